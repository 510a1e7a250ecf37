import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { SpanKind } from '@opentelemetry/api';
import { expect, it } from 'vitest';
import { openIdleMarketplace } from '../support/bridge-process.ts';
import { createBridgeWorkspace } from '../support/bridge-workspace.ts';
import { programFile } from '../support/built-program.ts';

/** The program as it is shipped, with its own copy of the API, and the operator's SDK with another. */
async function runDoctor(...nodeOptions: string[]): Promise<{ spans: object[]; baseUrl: string }> {
  const baseUrl = await openIdleMarketplace();
  const { folder, configFile } = createBridgeWorkspace({ marketplace: { baseUrl } });
  const spansFile = path.join(folder, 'spans.jsonl');
  const args = [...nodeOptions, programFile, 'doctor', '--config', configFile];
  // Not everything is in order there, and it says so with its status.
  await new Promise((resolve) => {
    execFile(process.execPath, args, { env: { ...process.env, SPANS_FILE: spansFile } }, resolve);
  });
  const lines = existsSync(spansFile) ? readFileSync(spansFile, 'utf8').trim().split('\n') : [];
  return { baseUrl, spans: lines.map((line) => JSON.parse(line) as object) };
}

it('the bundled program has its spans recorded by an SDK that is imported before it', async () => {
  const sdk = pathToFileURL(path.resolve('test/cli/otel.mjs')).href;
  const { spans, baseUrl } = await runDoctor('--import', sdk);
  expect(spans).toContainEqual({
    name: 'GET',
    kind: SpanKind.CLIENT,
    attributes: {
      'http.request.method': 'GET',
      'server.address': new URL(baseUrl).hostname,
      'gangway.purpose': expect.any(String),
      'http.response.status_code': 200,
    },
  });
});

it('the bundled program records nothing without an SDK', async () => {
  expect((await runDoctor()).spans).toEqual([]);
});
