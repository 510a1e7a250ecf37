#!/usr/bin/env node
// This comes first, and the rest is imported later: an old Node.js would fail to load it, without saying why.
import '../bin/check-node.js';

const { enableCompileCache } = await import('node:module');
// A short command spends most of its time loading modules.
enableCompileCache();
const { runCli } = await import('./cli/cli.ts');
const { useProxyOf } = await import('./lib/proxy.ts');
useProxyOf(process.env);

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // The second signal ends the process at once.
    if (stopping.signal.aborted) process.exit(1);
    stopping.abort();
  });
}

const { stdin, stdout, stderr } = process;
let lost: NodeJS.ErrnoException | undefined;
stdout.on('error', (error: NodeJS.ErrnoException) => {
  // EPIPE: the reader has enough, as `head` does.
  if (error.code !== 'EPIPE') lost = error;
});
// A log that cannot be written stops no work.
stderr.on('error', () => undefined);
process.once('exit', () => {
  if (lost === undefined) return;
  stderr.write(`gangway: stdout could not be written: ${lost.message}\n`);
  process.exitCode ||= 1;
});
const terminal = { stdin, stdout, stderr, signal: stopping.signal };
process.exitCode = await runCli(process.argv.slice(2), terminal);
