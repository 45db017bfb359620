"""Language models and encoders. Importing this room is cheap: heavy libraries load on first use."""

from dragoman.models.hf import HfModel
from dragoman.models.llamacpp import LlamaCppModel
from dragoman.models.onnx import OnnxEncoder
from dragoman.models.remote import RemoteModel
from dragoman.models.scripted import ScriptedEncoder, ScriptedModel
from dragoman.models.static import StaticEncoder

__all__ = [
    "HfModel",
    "LlamaCppModel",
    "OnnxEncoder",
    "RemoteModel",
    "ScriptedEncoder",
    "ScriptedModel",
    "StaticEncoder",
]
