# sfumato with its workbench, for a machine of one's own:
#   docker build -t sfumato .
#   docker run --rm --network none -v "$PWD:/data" sfumato run visits.csv -r visits.yaml -o out
#   docker run --rm --network host -v "$PWD:/data" sfumato serve --no-browser
# The folder must be writable for user 10001 (or: --user "$(id -u)"). The workbench listens on this machine alone.
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src ./src
COPY verifier ./verifier
RUN python -m venv /opt/sfumato && /opt/sfumato/bin/pip install --no-cache-dir --constraint constraints.txt ".[web,excel,stats]"

FROM python:3.13-slim
COPY --from=build /opt/sfumato /opt/sfumato
RUN useradd --create-home --uid 10001 sfumato && mkdir /data && chown sfumato /data
ENV PATH=/opt/sfumato/bin:$PATH \
    PYTHONUNBUFFERED=1
USER 10001
WORKDIR /data
ENTRYPOINT ["sfumato"]
CMD ["--help"]
