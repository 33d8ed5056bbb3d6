"""What the native backend does not have, it refuses with a way out."""

from __future__ import annotations

import pytest
from mjlab.sim import SimulationCfg

from solo.errors import SoloError
from solo.sim import SoloSimulationCfg, use_native


@pytest.mark.parametrize("field", ["geom_size", "geom_pos"])
def test_geometry_cannot_differ_between_environments(make_sim, field):
    with pytest.raises(ValueError, match=f"{field}.*Warp backend"):
        make_sim(2).expand_model_fields((field,))


def test_unknown_model_field_is_named(make_sim):
    with pytest.raises(ValueError, match="body_weight"):
        make_sim(2).expand_model_fields(("body_weight",))


def test_unknown_data_field_is_named(make_sim):
    with pytest.raises(AttributeError, match="no_such_field"):
        _ = make_sim(2).data.no_such_field


def test_warp_structs_are_not_there(make_sim):
    with pytest.raises(SoloError, match="backend to 'warp'"):
        _ = make_sim(1).wp_data


def test_zero_threads_are_refused():
    with pytest.raises(SoloError, match="threads is 0, must be at least 1"):
        SoloSimulationCfg(num_threads=0)


@pytest.mark.parametrize(
    ("backend", "device", "native"),
    [("auto", "cpu", True), ("auto", "cuda:0", False), ("native", "cpu", True),
     ("warp", "cpu", False)],
)  # fmt: skip
def test_backend_follows_config_and_device(backend, device, native):
    assert use_native(SoloSimulationCfg(backend=backend), device) is native


def test_native_on_a_gpu_is_refused():
    with pytest.raises(SoloError, match="native backend runs on device 'cpu'"):
        use_native(SoloSimulationCfg(backend="native"), "cuda:0")


def test_other_packages_configurations_keep_stock_mjlab():
    assert not use_native(SimulationCfg(), "cpu")
