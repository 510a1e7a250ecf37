import { existsSync } from 'node:fs';
import { cp, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLabelStudioSite, type LabelStudioSite } from '../support/label-studio/label-studio-client.ts';
import { installPythonPackage } from './python-package.ts';
import { freePort, startServer } from './server-process.ts';

/** A real Label Studio with a database of its own. */
export interface LabelStudioServer extends LabelStudioSite {
  /** The same one started otherwise, at another port; this one is of no use after that. */
  restart(options: LabelStudioOptions): Promise<LabelStudioServer>;
  /** Keeps a copy of its database. */
  backUp(): Promise<void>;
  /** Started with that copy again, at another port: all that was made since is gone. */
  restore(): Promise<LabelStudioServer>;
  /** Ends it as a power cut would: it can be started again. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface LabelStudioOptions {
  /** Whether all visitors may sign up, which is the default. Else a visitor needs the link. */
  isSignUpOpen?: boolean;
  /** Variables that it gets besides. */
  env?: Record<string, string>;
}

/** Another one can be tried: `LABEL_STUDIO=1.20.0 npm run test:tools:label-studio`. */
const version = process.env['LABEL_STUDIO'] ?? '1.23.2';

const startMs = 600_000;
const owner = {
  email: 'owner@example.com',
  password: 'owner-password-1',
  legacyToken: 'ab12cd34ef56ab12cd34ef56ab12cd34ef56ab12',
};

/** Null, with a loud line, where it cannot be installed. */
export async function openLabelStudio(options: LabelStudioOptions = {}): Promise<LabelStudioServer | null> {
  const bin = await installPythonPackage('label-studio', [`label-studio==${version}`]);
  if (bin === null) return null;
  const folder = await mkdtemp(path.join(tmpdir(), 'gangway-label-studio-'));
  await cp(await makeEmpty(bin), folder, { recursive: true });
  return await start(bin, folder, options);
}

/** The first start in a folder takes minutes, as it makes the database: it is made once, and copied. */
async function makeEmpty(bin: string): Promise<string> {
  const made = path.join(bin, '..', 'empty-database');
  if (existsSync(made)) return made;
  const draft = await mkdtemp(`${made}-`);
  const first = await start(bin, draft, {});
  await first.kill();
  // Another process may have been faster.
  await rename(draft, made).catch(() => rm(draft, { recursive: true, force: true }));
  return made;
}

async function start(bin: string, folder: string, options: LabelStudioOptions): Promise<LabelStudioServer> {
  const database = path.join(folder, 'label_studio.sqlite3');
  const backup = `${database}.backup`;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = await startServer({
    command: path.join(bin, 'label-studio'),
    args: [
      'start',
      '--no-browser',
      '--data-dir',
      folder,
      '-p',
      String(port),
      '--internal-host',
      '127.0.0.1',
      '--username',
      owner.email,
      '--password',
      owner.password,
      '--user-token',
      owner.legacyToken,
      '--enable-legacy-api-token',
    ],
    env: {
      HOME: folder,
      SENTRY_DSN: '',
      FRONTEND_SENTRY_DSN: '',
      COLLECT_ANALYTICS: 'false',
      LATEST_VERSION_CHECK: 'false',
      DISABLE_SIGNUP_WITHOUT_LINK: String(options.isSignUpOpen !== true),
      ...options.env,
    },
    readyUrl: `${url}/health`,
    timeoutMs: startMs,
  });
  return {
    ...createLabelStudioSite({ url, version, owner }),
    async restart(other) {
      await server.stop();
      return await start(bin, folder, other);
    },
    backUp: () => cp(database, backup),
    async restore() {
      await server.stop();
      await cp(backup, database);
      return await start(bin, folder, options);
    },
    kill: () => server.kill(),
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
