# Simulation, training and evaluation, on NVIDIA GPUs or CPUs. From the repository's root:
#   docker build -f docker/train.Dockerfile -t solo-train .
#   docker run --gpus all -v "$PWD/runs:/solo/runs" solo-train train teacher --output runs/teacher
# A smaller image without CUDA: --build-arg TORCH_INDEX=<URL of PyTorch's CPU index>.
FROM python:3.12-slim-bookworm

# EGL renders without a screen; rsl_rl asks git for the state of the code.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git libegl1 \
    && rm -rf /var/lib/apt/lists/*
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility,graphics PIP_NO_CACHE_DIR=1

ARG TORCH_INDEX
RUN pip install torch==2.13.0 ${TORCH_INDEX:+--index-url "$TORCH_INDEX"}

WORKDIR /opt/solo
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src src
RUN pip install --constraint constraints.txt ".[train,deploy,hub]"

WORKDIR /solo
ENTRYPOINT ["solo"]
CMD ["--help"]
