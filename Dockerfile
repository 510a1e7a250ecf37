# Two stages: the first builds the bundle with all packages, the second has only what the program needs to run.
# Pin it by its digest for a release: --build-arg BASE=node@sha256:…
ARG BASE=node:24.21.0-bookworm-slim
FROM ${BASE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No install script is needed: bundling uses none, and better-sqlite3 ships its binaries.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.types.json rolldown.config.ts ./
COPY src ./src
COPY migrations ./migrations
COPY bin ./bin
# For `gangway version`: --build-arg COMMIT=$(git rev-parse --short HEAD)
ARG COMMIT
# The bundle has every package but better-sqlite3, of which only the binaries for Linux are needed.
RUN npm run build && chmod +x dist/main.js \
  && cd node_modules/better-sqlite3 && rm -rf deps src && find prebuilds -type f ! -name 'linux*' -delete

FROM ${BASE}
ENV NODE_ENV=production
# Else the C library keeps memory for each of V8's helper threads, some 20 MiB that are mostly free, and large pieces that
# were freed, which a long-lived process has more and more of. (The second is its default, which it would raise by itself.)
ENV MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=131072
# Where SQLite may keep large intermediate results when everything else is read-only.
ENV SQLITE_TMPDIR=/data
COPY --from=build /app/package.json /app/package.json
COPY --from=build /app/node_modules/better-sqlite3 /app/node_modules/better-sqlite3
COPY --from=build /app/dist /app/dist
# For `docker exec`, and as a command of its own: gangway status
RUN printf '#!/bin/sh\nexec node -- /app/dist/main.js "$@"\n' > /usr/local/bin/gangway && chmod +x /usr/local/bin/gangway
# Without a configured path the database is ./data/gangway.db, and the configuration is ./gangway.config.json.
# To keep the configuration too, mount a folder as /gangway.
RUN mkdir /data /gangway && ln -s /data /gangway/data && chown 10001:10001 /data /gangway
WORKDIR /gangway
# A cluster can see from a number that it is not root.
USER 10001:10001
VOLUME /data
EXPOSE 8787 8788
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.GANGWAY_RECEIVER_PORT || 8787}/readyz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# V8 reserves less memory for short-lived values: an idle bridge has 13 to 21 MiB less, a busy one 52 to 65.
# After `--`, Node leaves Gangway's `--env-file` to Gangway.
ENTRYPOINT ["node", "--max-semi-space-size=2", "--", "/app/dist/main.js"]
CMD ["start"]
