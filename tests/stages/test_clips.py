"""Clips of a training: they are films, and they change nothing."""

from __future__ import annotations

import imageio_ffmpeg
import pytest

from solo import gl
from solo.cli.main import main
from solo.runs.run import load_checkpoint
from solo.stages import clips
from tests.evaluation.runs import write_run
from tests.stages.test_resume import differences, run

needs_gl = pytest.mark.skipif(not gl.has_gl(), reason=gl.INSTALL_HINT)


@needs_gl
@pytest.mark.slow
def test_a_run_with_clips_is_the_same_to_the_bit(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(clips, "SECONDS", 0.5)
    plain, filmed = tmp_path / "plain", tmp_path / "filmed"
    run("teacher", plain, plain, iterations=2)
    run("teacher", filmed, filmed, iterations=2, clip_interval=2)
    one, other = (load_checkpoint(path / "model_1.pt") for path in (plain, filmed))
    assert set(differences(one, other)) <= {"/infos/total_time_s"}
    assert not (plain / "clips").exists()
    (clip,) = (filmed / "clips").iterdir()
    assert clip.name == "model_0.mp4"
    assert f"Wrote {clip}" in capsys.readouterr().out
    count, seconds = imageio_ffmpeg.count_frames_and_secs(str(clip))
    assert count is not None
    assert seconds is not None
    assert count > 1
    assert 1.0 < seconds < 2.0  # The robot may fall; the last frame is held for 1 s.


def test_a_clip_that_fails_is_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(clips, "TERRAIN", "nowhere")
    folder = write_run(tmp_path / "run", "teacher")
    state = load_checkpoint(folder / "model_3.pt")
    assert clips.write_clip(folder, state, 0.0) is None
    printed = capsys.readouterr().out
    assert printed.startswith("No clip of iteration 3: solo: Unknown terrain 'nowhere'")
    assert printed.count("\n") == 1


def test_without_opengl_the_option_is_refused_at_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(gl, "_LIBRARIES", {"egl": ("libNotHere.so.1",)})
    words = f"train teacher --clip-interval 5 --output {tmp_path / 'run'}"
    assert main(words.split()) == 1
    error = capsys.readouterr().err
    assert "--clip-interval needs OpenGL without a screen: apt-get install" in error
    assert "Traceback" not in error
    assert not (tmp_path / "run").exists()
