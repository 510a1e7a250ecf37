import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { conformanceCases } from '../../src/adapters/conformance.ts';
import { doccanoFacts } from '../support/doccano-facts.ts';
import { doccanoHarness } from '../support/doccano-harness.ts';
import { doccanoStories } from '../support/doccano-stories.ts';
import { type DoccanoServer, doccanoVersion, openDoccano } from './doccano-server.ts';

let server: DoccanoServer | null = null;

beforeAll(async () => {
  server = await openDoccano();
});
afterAll(async () => await server?.stop());

describe(`doccano ${doccanoVersion}`, () => {
  it.for(doccanoFacts)('$name', async ({ run, since = '' }, { skip }) => {
    if (server === null || since > doccanoVersion) skip();
    else await run(server);
  });

  it('hands uploaded files to all visitors who know their name', async ({ skip }) => {
    if (server === null) return skip();
    const media = path.join(server.folder, 'media');
    await mkdir(media, { recursive: true });
    await writeFile(path.join(media, 'sign.txt'), 'a sign');
    expect(await (await fetch(`${server.url}/media/sign.txt`)).text()).toBe('a sign');
  });
});

describe(`the adapter doccano, with doccano ${doccanoVersion}`, () => {
  it.for(doccanoStories)('$name', async ({ run }, { skip }) => {
    if (server === null) skip();
    else await run(server);
  });

  it.for(conformanceCases)('$name', async (one, { skip }) => {
    if (server === null) return skip();
    const harness = await doccanoHarness(server);
    const reason = one.skip?.(harness) ?? null;
    if (reason === null) await one.run(harness);
    else skip(reason);
  });
});
