#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

// Most of what a short command takes is the loading of its modules.
enableCompileCache();
const { runCli } = await import('./cli/cli.ts');

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // Whoever asks twice does not want to wait for a clean ending.
    if (stopping.signal.aborted) process.exit(1);
    stopping.abort();
  });
}

const { stdin, stdout, stderr } = process;
const terminal = { stdin, stdout, stderr, signal: stopping.signal };
process.exitCode = await runCli(process.argv.slice(2), terminal);
