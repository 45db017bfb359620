"""The whole way on toy with the real base: what is trained in three minutes on two cores beats what is not trained."""

from __future__ import annotations

import random
from dataclasses import replace
from time import process_time

import pytest

from dragoman.core.examples import Example
from dragoman.datasets.open import open_dataset
from dragoman.models.part import open_part
from dragoman.models.unified_open import offsets_of
from dragoman.train.contract import Job
from dragoman.train.data import read_sides
from dragoman.train.offsets import macro_f1
from dragoman.train.recipe import load_recipe
from dragoman.train.run import train
from dragoman.train.unified_measures import measures, most_probable

pytestmark = [pytest.mark.integration, pytest.mark.slow]
