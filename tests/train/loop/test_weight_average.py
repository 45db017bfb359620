"""The mean of several trainings: of weights as they are, of an adapter by what its factors multiply to."""

import pytest

torch = pytest.importorskip("torch")

from dragoman.train.loop.weight_average import Mean, mean_product  # noqa: E402


class Tiny(torch.nn.Module):
    def __init__(self, seed):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.rows = torch.nn.Parameter(torch.randn(3, 4, generator=generator))
        self.q = torch.nn.Module()
        self.q.lora_A = torch.nn.ModuleDict({"default": torch.nn.Linear(6, 2, bias=False)})
        self.q.lora_B = torch.nn.ModuleDict({"default": torch.nn.Linear(2, 5, bias=False)})
        for each in (self.q.lora_A, self.q.lora_B):
            each["default"].weight.data = torch.randn(each["default"].weight.shape, generator=generator)

    @property
    def product(self):
        a, b = self.q.lora_A["default"].weight, self.q.lora_B["default"].weight
        return (b @ a).detach().double()


def test_the_same_product_in_other_factors_is_its_own_mean():
    """2 x 0.5 and 1 x 1 are both 1: their mean is 1, while the mean of the factors would give 1.5 x 0.75."""
    a, b = mean_product(
        [torch.tensor([[0.5, 0.0]]), torch.tensor([[1.0, 0.0]])], [torch.tensor([[2.0]]), torch.tensor([[1.0]])]
    )
    assert torch.allclose(b @ a, torch.tensor([[1.0, 0.0]]))


def test_the_larger_direction_stays_where_the_rank_is_too_small_for_both():
    """Means 3 e1 e1' and 1 e2 e2' in rank one: the nearest is 3 e1 e1'."""
    a = [torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])]
    b = [torch.tensor([[6.0], [0.0]]), torch.tensor([[0.0], [2.0]])]
    found_a, found_b = mean_product(a, b)
    assert torch.allclose(found_b @ found_a, torch.tensor([[3.0, 0.0], [0.0, 0.0]]), atol=1e-6)


def test_a_layer_narrower_than_the_rank_keeps_its_shape():
    a, b = [torch.randn(4, 2), torch.randn(4, 2)], [torch.randn(3, 4), torch.randn(3, 4)]
    found_a, found_b = mean_product(a, b)
    assert found_a.shape == (4, 2) and found_b.shape == (3, 4)
    assert torch.allclose(found_b @ found_a, (b[0] @ a[0] + b[1] @ a[1]) / 2, atol=1e-5)


def test_rows_are_averaged_and_no_other_adapter_of_the_rank_is_nearer():
    models = [Tiny(seed) for seed in (1, 2, 3)]
    mean, made = Mean(), Tiny(4)
    for model in models:
        mean.add(model)
    mean.put(made)
    assert torch.allclose(made.rows, (models[0].rows + models[1].rows + models[2].rows) / 3)
    wanted = sum(model.product for model in models) / 3
    values = torch.linalg.svdvals(wanted)
    missed = torch.linalg.matrix_norm(made.product - wanted)
    assert missed == pytest.approx(float(values[2:].square().sum().sqrt()), rel=1e-4)  # Eckart and Young's bound


def test_what_is_added_is_kept_when_the_model_learns_on():
    model, mean = Tiny(1), Mean()
    before = model.rows.detach().clone()
    mean.add(model)
    with torch.no_grad():
        model.rows.add_(1.0)
    mean.put(model)
    assert torch.allclose(model.rows, before)
