"""Language models and encoders. Importing this package is cheap: heavy libraries load on first use."""

from dragoman.models.llamacpp.model import LlamaCppModel
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.models.remote.encoder import RemoteEncoder
from dragoman.models.remote.model import RemoteModel
from dragoman.models.scripted import ScriptedEncoder, ScriptedModel
from dragoman.models.static_encoder import StaticEncoder
from dragoman.models.torch.model import HfModel

__all__ = [
    "HfModel",
    "LlamaCppModel",
    "OnnxEncoder",
    "RemoteEncoder",
    "RemoteModel",
    "ScriptedEncoder",
    "ScriptedModel",
    "StaticEncoder",
]
