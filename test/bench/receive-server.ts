import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import getRawBody from 'raw-body';
import type { Adapter, Member } from '../../src/adapters/adapter.ts';
import { createApp } from '../../src/app/app.ts';
import { openStorage } from '../../src/app/storage.ts';
import { Config } from '../../src/config/config-schema.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { createMarketplaceHeaders } from '../../src/receiver/marketplace-headers.ts';
import { isSignedWith, readSignature, toSigningKey } from '../../src/receiver/verify-signature.ts';

/**
 * One of the servers that `receive.ts` measures, in a process of its own: `node receive-server.ts
 * <kind> <secret> [database url] [retention]`. Tells its parent `{ port }` when it listens, and Gangway
 * also its `consoleUrl`, where the secret is the token of an operator; asked
 * for `calls`, it answers when each trainer was first added to the tool; for `memory`, how many bytes it
 * has after a collection.
 */
const [kind = '', secret = '', databaseUrl = '', retention = '30d'] = process.argv.slice(2);
const accepted = JSON.stringify({ status: 'accepted' });

const bare: RequestListener = (request, response) => {
  request
    .on('data', () => undefined)
    .on('end', () => {
      response.setHeader('Content-Type', 'application/json; charset=utf-8');
      response.end(accepted);
    });
};

/** As most would write it; what Gangway does beyond it is what is measured. */
function createExpress(verifies: boolean): RequestListener {
  const secrets = [toSigningKey(secret)];
  const headers = createMarketplaceHeaders(['X-OpenTrain-', 'X-Service-']);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.post('/webhooks/:install', async (request, response) => {
    const length = request.headers['content-length'] ?? null;
    const body = await getRawBody(request, { length, limit: 256 * 1024 });
    if (verifies) {
      const signatures = headers.signaturesOf(request.headers);
      const now = Math.floor(Date.now() / 1000);
      const read = readSignature(signatures, now);
      if (read.outcome === 'refused' || !isSignedWith(secrets, read.signature, body)) {
        response.status(401).json({ error: 'The signature is not valid', code: 'unauthenticated' });
        return;
      }
    }
    response.json({ status: 'accepted' });
  });
  return app;
}

/** A tool in memory that does everything at once, so that Gangway alone is measured. */
function createInstantAdapter(calls: Map<string, number>): Adapter {
  const members = new Map<string, Member>();
  return {
    capabilities: { removal: { effect: 'locks_out' }, readding: 'yes', exclusive: 'membership' },
    check: async () => [],
    groupFor: (link) => link.externalProjectId,
    findMember: async (_group, { trainerId }) => members.get(trainerId) ?? null,
    async addMember(_group, { trainerId, email }) {
      calls.set(trainerId, performance.timeOrigin + performance.now());
      const member = { id: trainerId, email };
      members.set(trainerId, member);
      return member;
    },
    async removeMember(_group, { id }) {
      members.delete(id);
    },
  };
}

const unlimited = { deliveriesPerMinute: 1e9, bytesPerMinute: '999TiB', storedBytes: '999TiB' };

async function startGangway(): Promise<Listening> {
  const calls = new Map<string, number>();
  const config = Config.parse({
    // What the machine can do is measured, and not what one install may have of it.
    receiver: { host: '127.0.0.1', port: 0, drain: '0s', limits: unlimited },
    console: { port: 0, tokens: { bench: { token: secret.padEnd(20, '-'), role: 'operator' } } },
    database: { url: databaseUrl },
    installs: { acme: { token: 'none', webhookSecrets: [secret], tool: 'studio' } },
    tools: { studio: { adapter: 'instant' } },
    retention: { deliveries: retention },
  });
  const storage = await openStorage(databaseUrl);
  const logger = createLogger({ level: 'error', destination: process.stderr });
  const adapters = new Map([['studio', createInstantAdapter(calls)]]);
  const app = createApp({ config, storage, logger, adapters });
  const { receiverUrl, consoleUrl } = await app.start();
  process.on('message', (asked) => {
    process.send?.(asked === 'memory' ? memoryAfterCollection() : Object.fromEntries(calls));
  });
  return { port: Number(new URL(receiverUrl).port), consoleUrl };
}

/** What is kept: the collector runs before where node is started with `--expose-gc`. */
export interface Memory {
  residentBytes: number;
  heapBytes: number;
  externalBytes: number;
}

function memoryAfterCollection(): Memory {
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { residentBytes: rss, heapBytes: heapUsed, externalBytes: external };
}

interface Listening {
  port: number;
  consoleUrl?: string;
}

async function startListener(listener: RequestListener): Promise<Listening> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port };
}

const listeners = new Map<string, () => Promise<Listening>>([
  ['bare', () => startListener(bare)],
  ['read', () => startListener(createExpress(false))],
  ['verify', () => startListener(createExpress(true))],
  ['gangway', startGangway],
]);
const start = listeners.get(kind);
if (start === undefined) throw new Error(`no such server: ${kind}`);
process.send?.(await start());
process.on('disconnect', () => process.exit(0));
