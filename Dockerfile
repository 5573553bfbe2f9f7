# Commands in a container:
#
#   docker build -t scarf-lightning .
#   docker run --rm -v "$PWD:/data" scarf-lightning scarf train pretrain=none,scarf
#   docker run --rm -v "$PWD:/data" scarf-lightning scarf report results=results
#
# The ordinary build of torch for Linux has CUDA in it, and runs on a CPU too:
#
#   docker run --rm --gpus all -v "$PWD:/data" scarf-lightning scarf train pretrain=none,scarf trainer=cuda
#
# An image without CUDA is some gigabytes smaller. PyTorch's installation page names the index of its CPU builds:
#
#   docker build -t scarf-lightning:cpu --build-arg TORCH_INDEX=THE_ADDRESS_OF_THE_CPU_INDEX .
FROM python:3.11-slim

ARG TORCH_INDEX=""

COPY . /source
RUN pip install --no-cache-dir ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} "torch>=2.4.1,<2.16" \
    && pip install --no-cache-dir "/source[openml,wandb,report,xgboost,catboost,joblib]" \
    && rm -r /source

# Results and reports go to the folder that is mounted here.
WORKDIR /data
ENV OMP_NUM_THREADS=1 MPLCONFIGDIR=/tmp/matplotlib
CMD ["scarf", "train", "--help"]
