# The policy runtime for a robot's computer (aarch64, Python 3.10 as in JetPack 6): numpy and
# onnxruntime by version and checksum, RealSense, Cyclone DDS; no torch. From the repository's root:
#   docker build --platform linux/arm64 -f docker/jetson.Dockerfile -t solo-robot .
#   docker run -it --network host --privileged -v "$PWD:/solo" solo-robot deploy policy.onnx --dry-run
FROM python:3.10-bookworm AS dds

# Cyclone DDS has no wheel for aarch64: library and Python package from source.
RUN apt-get update && apt-get install --yes --no-install-recommends cmake
RUN git clone --depth 1 --branch 11.0.1 https://github.com/eclipse-cyclonedds/cyclonedds /src \
    && cmake -S /src -B /build -DCMAKE_INSTALL_PREFIX=/opt/cyclonedds -DCMAKE_BUILD_TYPE=Release \
    && cmake --build /build --parallel --target install
ENV CYCLONEDDS_HOME=/opt/cyclonedds
RUN pip wheel --no-deps --no-binary cyclonedds --wheel-dir /wheels cyclonedds==11.0.1

FROM python:3.10-slim-bookworm

# libusb is what the RealSense library loads.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libusb-1.0-0 \
    && rm -rf /var/lib/apt/lists/*
ENV CYCLONEDDS_HOME=/opt/cyclonedds PIP_NO_CACHE_DIR=1

WORKDIR /opt/solo
COPY requirements-robot.txt ./
RUN pip install --require-hashes -r requirements-robot.txt

COPY --from=dds /opt/cyclonedds /opt/cyclonedds
COPY --from=dds /wheels /wheels
RUN pip install --no-deps --force-reinstall /wheels/cyclonedds-*.whl

COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-deps .

WORKDIR /solo
ENTRYPOINT ["solo"]
CMD ["--help"]
