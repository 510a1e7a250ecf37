import { once } from 'node:events';
import { parseArgs } from 'node:util';
import type { Adapter, Member } from '../../src/adapters/adapter.ts';
import { createApp } from '../../src/app/app.ts';
import { openStorage } from '../../src/app/storage.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { AppError } from '../../src/domain/errors.ts';
import { createLogger } from '../../src/lib/logger.ts';

/**
 * `gangway start` as a process of its own, except that the tool `list` is the one of `http-tool.ts`
 * at `--tool`: a test sees each call as it arrives, and by whose hand.
 */
const { values } = parseArgs({
  allowPositionals: true,
  options: { config: { type: 'string' }, tool: { type: 'string' } },
});
const { config } = loadConfig({ path: values.config ?? '', env: process.env });
const logger = createLogger({ level: 'info', destination: process.stderr });
const key = Buffer.from(process.env['GANGWAY_SECRET_KEY'] ?? '', 'base64');
const storage = await openStorage(config.database.url, key);
const adapters = new Map([['list', createHttpAdapter(values.tool ?? '')]]);
// An operator waits a minute for the second look, a test a moment. Loops look less often than in a test's own
// process, as these run for half a minute.
const app = createApp({ config, storage, logger, adapters, secondLookMs: 500, pollMs: 500 });
logger.info(await app.start(), 'Gangway is running');
await once(process, 'SIGTERM');
await app.stop();
await storage.database.close();

function createHttpAdapter(toolUrl: string): Adapter {
  async function call(method: string, address: string, signal: AbortSignal): Promise<Response> {
    const headers = { 'x-worker': String(process.pid) };
    const response = await fetch(`${toolUrl}/${address}`, { method, headers, signal }).catch((cause: unknown) => {
      throw new AppError('unavailable', 'The tool could not be reached', { cause });
    });
    if (response.ok || response.status === 404) return response;
    throw new AppError('unavailable', `The tool answered ${response.status}`);
  }

  return {
    capabilities: { removal: { effect: 'locks_out' }, readding: 'yes', exclusive: 'membership' },
    async check(signal) {
      await call('GET', '', signal);
      return [];
    },
    groupFor: ({ externalProjectId }) => externalProjectId,
    async findMember(group, { trainerId }, signal) {
      const response = await call('GET', `${group}/${trainerId}`, signal);
      return response.status === 404 ? null : ((await response.json()) as Member);
    },
    async addMember(group, { trainerId }, signal) {
      const response = await call('PUT', `${group}/${trainerId}`, signal);
      return (await response.json()) as Member;
    },
    async removeMember(group, { id }, signal) {
      await call('DELETE', `${group}/${id}`, signal);
    },
  };
}
