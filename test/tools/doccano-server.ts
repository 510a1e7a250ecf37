import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { DoccanoLogin, DoccanoSite } from '../support/doccano-site.ts';
import { installPythonPackage } from './python-package.ts';
import { freePort, startServer } from './server-process.ts';

export interface DoccanoServer extends DoccanoSite {
  /** Where it keeps its database and, in `media`, what was uploaded. */
  folder: string;
  /** Ends it as a power cut would. */
  kill(): Promise<void>;
  /** The same one after that, at another port. */
  restart(): Promise<DoccanoServer>;
  /** Keeps a copy of its database. */
  backUp(): Promise<void>;
  /** Started with that copy again, at another port: all that was made since is gone. */
  restore(): Promise<DoccanoServer>;
  stop(): Promise<void>;
}

/** 1.8.5 was withdrawn from the index. Try it with `DOCCANO=1.8.5 npm run test:tools:doccano`. */
export const doccanoVersion = process.env['DOCCANO'] ?? '1.8.4';

/** Dependencies that the package does not pin, and whose newest versions break it. */
export const doccanoRequirements = [`doccano==${doccanoVersion}`, 'marshmallow<4', 'numpy<2'];

const run = promisify(execFile);
const PATH = process.env['PATH'];
const admin: DoccanoLogin = { username: 'admin', password: 'lantern-Ox3-marble' };

/** For Django's shell, because the API cannot create such accounts. */
const makeStaffSource = `
import os
from django.contrib.auth.models import User
name, password = os.environ["STAFF_NAME"], os.environ["STAFF_PASSWORD"]
User.objects.create_user(name, password=password, is_staff=True)
`;

/**
 * A real doccano with an empty database; null, with a loud line, where it cannot be installed.
 *
 * @param variables that it gets besides
 */
export async function openDoccano(variables: Record<string, string> = {}): Promise<DoccanoServer | null> {
  const bin = await installPythonPackage('doccano', doccanoRequirements);
  if (bin === null) return null;
  const folder = await mkdtemp(path.join(tmpdir(), 'gangway-doccano-'));
  const env = { HOME: folder, DOCCANO_HOME: folder, ...variables };
  const command = path.join(bin, 'doccano');
  const setUp = async (args: string[]) => await run(command, args, { env: { PATH, ...env } });
  await setUp(['init']);
  await setUp(['createuser', '--username', admin.username, '--password', admin.password]);
  return await start(bin, folder, env);
}

async function start(bin: string, folder: string, env: Record<string, string>): Promise<DoccanoServer> {
  const database = path.join(folder, 'db.sqlite3');
  const backup = `${database}.backup`;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = await startServer({
    // One worker, because SQLite has one writer.
    args: ['webserver', '--port', String(port), '--workers', '1'],
    env,
    command: path.join(bin, 'doccano'),
    readyUrl: `${url}/v1/me`,
    timeoutMs: 120_000,
  });

  return {
    url,
    admin,
    folder,
    kill: () => server.kill(),
    restart: () => start(bin, folder, env),
    backUp: () => cp(database, backup),
    async restore() {
      await server.stop();
      await cp(backup, database);
      return await start(bin, folder, env);
    },
    async makeStaff({ username, password }) {
      const python = path.join(bin, 'python');
      const { stdout } = await run(python, ['-c', 'import backend; print(backend.__path__[0])']);
      const DATABASE_URL = `sqlite:///${folder}/db.sqlite3`;
      await run(python, ['manage.py', 'shell', '-c', makeStaffSource], {
        cwd: stdout.trim(),
        env: {
          PATH,
          ...env,
          DATABASE_URL,
          DJANGO_SETTINGS_MODULE: 'config.settings.production',
          STAFF_NAME: username,
          STAFF_PASSWORD: password,
        },
      });
    },
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
