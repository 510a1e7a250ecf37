import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createNodeMiddleware, Webhooks } from '@octokit/webhooks';
import SqliteDatabase from 'better-sqlite3';
import express from 'express';
import getRawBody from 'raw-body';
import { createMarketplaceHeaders, isSignedWith, readSignature } from '../../src/http/receiver/delivery-headers.ts';

/** What others receive webhooks with, each as its own documents show it. What Gangway does beyond is what is measured. */

const accepted = JSON.stringify({ status: 'accepted' });

export const bare: RequestListener = (request, response) => {
  request
    .on('data', () => undefined)
    .on('end', () => {
      response.setHeader('Content-Type', 'application/json; charset=utf-8');
      response.end(accepted);
    });
};

type Store = (install: string, body: Buffer) => void;

interface ExpressOptions {
  /** Verifies with this secret; without one it only reads. */
  secret?: string;
  store?: Store;
}

export function createExpress({ secret, store }: ExpressOptions): RequestListener {
  const secrets = secret === undefined ? undefined : [secret];
  const headers = createMarketplaceHeaders(['X-OpenTrain-', 'X-Service-']);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.post('/webhooks/:install', async (request, response) => {
    const length = request.headers['content-length'] ?? null;
    const body = await getRawBody(request, { length, limit: 256 * 1024 });
    if (secrets !== undefined) {
      const signatures = headers.signaturesOf(request.headers);
      const now = Math.floor(Date.now() / 1000);
      const read = readSignature(signatures, now);
      if (read.outcome === 'refused' || !isSignedWith(secrets, read.signature, body)) {
        response.status(401).json({ error: 'The signature is not valid', code: 'unauthenticated' });
        return;
      }
    }
    store?.(request.params.install, body);
    response.json({ status: 'accepted' });
  });
  return app;
}

/** The plain way to store before the answer, once each: a commit for each request. Nothing is encrypted. */
export function createCommitting(file: string): Store {
  const sqlite = new SqliteDatabase(file);
  sqlite.pragma('journal_mode = WAL');
  sqlite.pragma('synchronous = FULL');
  sqlite.exec('create table delivery (id integer primary key, install text, digest blob, body blob)');
  sqlite.exec('create unique index delivery_body on delivery (install, digest)');
  const insert = sqlite.prepare('insert into delivery (install, digest, body) values (?, ?, ?) on conflict do nothing');
  return (install, body) => void insert.run(install, createHash('sha256').update(body).digest(), body);
}

/** It verifies, and tells who listens in memory. */
export function createOctokit(secret: string): RequestListener {
  const webhooks = new Webhooks({ secret });
  webhooks.on('push', () => undefined);
  return createNodeMiddleware(webhooks, { path: '/webhooks/acme' });
}

/**
 * Debian's `webhook`: it verifies, and starts a program for each delivery, here one that does nothing.
 *
 * @returns its port, or why it is not run
 */
export async function startDebianWebhook(secret: string): Promise<{ port: number } | { notRun: string }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'bench-webhook-'));
  const file = path.join(folder, 'hooks.json');
  const parameter = { source: 'header', name: 'X-Hub-Signature-256' };
  const rule = { match: { type: 'payload-hmac-sha256', secret, parameter } };
  writeFileSync(file, JSON.stringify([{ id: 'acme', 'execute-command': '/bin/true', 'trigger-rule': rule }]));
  const port = await findFreePort();
  const args = ['-hooks', file, '-ip', '127.0.0.1', '-port', String(port), '-urlprefix', 'webhooks'];
  const program = spawn('webhook', args, { stdio: 'ignore' });
  process.on('exit', () => {
    program.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  const failed = once(program, 'error').then(() => ({
    notRun: 'it is not installed (Debian: apt-get install webhook)',
  }));
  return await Promise.race([failed, answers(program, port).then(() => ({ port }))]);
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function answers(program: ChildProcess, port: number): Promise<void> {
  while (program.exitCode === null) {
    const socket = connect({ port, host: '127.0.0.1' });
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`webhook ended with ${program.exitCode}`);
}
