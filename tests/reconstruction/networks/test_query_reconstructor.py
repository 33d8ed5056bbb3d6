"""What is particular to the Query Reconstructor."""

from __future__ import annotations

import math

import pytest
import torch

from solo.reconstruction.networks import make_reconstructor
from solo.reconstruction.networks.depth_encoder import DepthEncoder, depth_channels
from solo.reconstruction.networks.interface import IO_PROFILES, ReconstructionIoCfg
from solo.reconstruction.networks.query_reconstructor import (
    FourierEncoding,
    QueryReconstructor,
    QueryReconstructorCfg,
)
from solo.reconstruction.networks.transformer import Attention
from solo.sensors.depth.camera import DepthHistory
from tests.reconstruction.networks.helpers import IO, make_tiny, make_windows


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("name", ["qr", "qr_evidence"])
def test_some_cells_are_those_of_the_whole_map(name):
    model = make_tiny(name).eval()
    windows, cells = make_windows(3), torch.tensor([5, 0, 31])
    whole, _ = model(*windows)
    some, _ = model(*windows, cells=cells)
    expected = whole["height"].flatten(1)[:, cells]
    torch.testing.assert_close(some["height"].squeeze(2), expected)
    torch.testing.assert_close(some["velocity"], whole["velocity"])


@pytest.mark.parametrize("name", ["qr", "qr_evidence"])
def test_streaming_equals_batch_with_delays_and_episodes_that_end(name):
    model = make_tiny(name).eval()
    history = DepthHistory(
        3, IO.depth_frames, IO.depth_stride, max_delay=2, shape=IO.depth_shape
    )
    history.delays.copy_(torch.tensor([0, 1, 2]))
    state = model.initial_state(3)
    with torch.no_grad():
        for step in range(20):
            if step in (3, 11):
                history.reset(torch.tensor([1]))
                state = model.reset_state(state, torch.tensor([1]))
            images, frames = make_windows(3)
            history.push(images[:, 0])
            window = history.read()
            batch, none = model(window, frames)
            stream, state = model(window, frames, state)
            assert none is None
            for key in ("height", "velocity"):
                torch.testing.assert_close(stream[key], batch[key], atol=1e-5, rtol=0)


def test_the_paper_sizes_give_138_memory_tokens_and_513_queries():
    model = QueryReconstructor()
    depth, frames = make_windows(1, model.io)
    with torch.no_grad():
        outputs, _ = model(depth, frames, return_attention=True)
    assert outputs["attention"].shape == (1, 512, 4 * 32 + 10)
    assert model.state_shapes() == ((13, 32, 64), ())


def test_the_order_of_the_memory_does_not_matter_to_the_queries():
    model = make_tiny("qr").eval()
    memory = torch.randn(2, 19, 16)
    shuffled = memory[:, torch.randperm(19)]
    with torch.no_grad():
        expected, found = model.decode(memory), model.decode(shuffled)
    torch.testing.assert_close(found, expected)


def test_age_and_place_in_the_image_do_matter():
    model = make_tiny("qr").eval()
    depth, frames = make_windows(1)
    with torch.no_grad():
        height = model(depth, frames)[0]["height"]
        reversed_time = model(depth.flip(1), frames)[0]["height"]
        tokens = model.encode_frame(torch.full((1, *IO.depth_shape), 0.5))
    assert not torch.allclose(height, reversed_time, atol=1e-6)
    # Apart from its border, a uniform image is the same everywhere.
    assert not torch.allclose(tokens[0, 4], tokens[0, 5], atol=1e-2)


def test_attention_weights_are_those_of_the_fused_kernel():
    attention = Attention(16, num_heads=1)
    queries, memory = torch.randn(1, 3, 16), torch.randn(2, 5, 16)
    _, values = attention.key_value(memory).chunk(2, dim=2)
    weights = attention.weights(queries, memory)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3))
    expected = attention.output(weights @ values)
    torch.testing.assert_close(attention(queries, memory), expected)


def test_attention_read_out_is_that_of_the_cells_in_the_last_layer():
    model = make_tiny("qr").eval()
    seen = []
    last = model.decoder_layers[-1]
    last.register_forward_hook(lambda _, inputs, __: seen.append(inputs))
    depth, frames = make_windows(2)
    with torch.no_grad():
        outputs, _ = model(depth, frames, return_attention=True)
        plain, _ = model(depth, frames)
        expected = last.weights(*seen[0])
    found = outputs.pop("attention")
    torch.testing.assert_close(outputs, plain)
    torch.testing.assert_close(found, expected[:, :-1])  # The last asks for velocity.


def test_fourier_encoding_of_hand_made_places():
    io = ReconstructionIoCfg()  # x from -0.3 to 1.3 m, y from -0.4 to 0.4 m.
    encoding = FourierEncoding(io, num_frequencies=3)
    # From pi to 16 pi (0.8 m / 0.05 m); the middle one is their geometric mean.
    expected = math.pi * torch.tensor([1.0, 4.0, 16.0])
    torch.testing.assert_close(encoding.frequencies, expected)
    centre = encoding(torch.tensor([0.5, 0.0]))
    torch.testing.assert_close(centre, torch.tensor([0.0] * 8 + [1.0] * 6))
    # x = 0.5 + 0.8 / 8, y = 0.4: 1/8 and 1/2 in units of 0.8 m.
    place = encoding(torch.tensor([0.6, 0.4]))
    angles = math.pi * torch.tensor([1 / 8, 1 / 2, 2.0, 1 / 2, 2.0, 8.0])
    by_hand = torch.cat([torch.tensor([1 / 8, 1 / 2]), angles.sin(), angles.cos()])
    torch.testing.assert_close(place, by_hand, atol=1e-5, rtol=0)


def test_each_cell_has_a_code_of_its_own():
    codes = QueryReconstructor().cell_features
    distance = torch.cdist(codes, codes) + 10.0 * torch.eye(len(codes))
    assert codes.shape == (512, 50)
    assert distance.min() > 0.5


def test_blocks_of_a_map_are_squares_of_neighbouring_cells():
    io = IO_PROFILES["laptop"]
    assert (io.query_block, io.num_queries) == (2, 128)
    cells = torch.arange(512.0).view(1, 16, 32)
    blocks = io.to_blocks(cells)
    # Rows 2 and 3, columns 2 and 3.
    assert blocks[0, 17].tolist() == [66.0, 67.0, 98.0, 99.0]
    assert torch.equal(io.from_blocks(blocks), cells)
    with pytest.raises(ValueError, match="query_block is 3"):
        ReconstructionIoCfg(query_block=3)


def test_a_query_stands_in_the_middle_of_its_block():
    io = IO_PROFILES["laptop"]
    model = QueryReconstructor(QueryReconstructorCfg(io=io))
    encoding = FourierEncoding(io)
    # Cells at x = -0.275 and -0.225 m, y = -0.375 and -0.325 m.
    first = encoding(torch.tensor([-0.25, -0.35]))
    torch.testing.assert_close(model.cell_features[0], first)


def test_queries_asked_alone_answer_as_in_the_whole_map():
    io = IO_PROFILES["laptop"]
    model = make_reconstructor("qr_evidence", io=io).eval()
    assert isinstance(model, QueryReconstructor)
    torch.manual_seed(0)
    depth, frames = torch.rand(2, 4, 32, 57), torch.randn(2, 10, 84)
    asked = torch.tensor([5, 127, 64])
    with torch.no_grad():
        whole, _ = model(depth, frames)
        some, _ = model(depth, frames, cells=asked)
    assert whole["height"].shape == (2, 16, 32)
    expected = io.to_blocks(whole["height"])[:, asked]
    torch.testing.assert_close(some["height"], expected, atol=1e-5, rtol=0)


def test_invalid_pixels_are_not_near_pixels():
    image = torch.tensor([[[[0.0, 0.01, 0.5]]]])
    depth, valid = depth_channels(image)[0, :, 0]
    torch.testing.assert_close(valid, torch.tensor([0.0, 1.0, 1.0]))
    torch.testing.assert_close(depth, torch.tensor([0.0, -2.45, 0.0]))


@pytest.mark.parametrize("shape", [(64, 113), (32, 57), (16, 25), (7, 9)])
def test_the_encoder_knows_its_grid(shape):
    encoder = DepthEncoder(1, (4, 4, 4), (2, 2, 2))
    assert encoder(torch.rand(1, 1, *shape)).shape[-2:] == encoder.grid(shape)
    assert DepthEncoder().grid((64, 113)) == (4, 8)
