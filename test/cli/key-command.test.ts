import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createAliveLock } from '../../src/db/alive-lock.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { createSecretBox } from '../../src/keys/secret-box.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { refused, useBridge } from './bridge.ts';

const hired = fullEvent({ type: 'contract.started' });

describe('gangway key', () => {
  const workspace = useBridge();
  const { run, runJson, runOk } = workspace;
  let keyFile: string;

  beforeEach(async () => {
    keyFile = path.join(workspace.folder, 'gangway.db.key');
    await workspace.receive(hired);
    return () => vi.unstubAllEnvs();
  });

  const readKey = () => Buffer.from(readFileSync(keyFile, 'utf8'), 'base64');

  it('show prints the fingerprint and not the key', async () => {
    const { fingerprint } = createSecretBox(readKey());
    expect(await runOk('key', 'show')).toBe(`${fingerprint}\n`);
    expect(await runJson('key', 'show')).toEqual({ fingerprint });
  });

  it('rotate replaces the key file', async () => {
    const old = readKey();
    const { status, stdout } = await run('key', 'rotate');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^2 sealed anew; the key is now [0-9a-f]{16}\./);
    expect(readKey()).not.toEqual(old);
    expect(existsSync(`${keyFile}.next`)).toBe(false);
    expect(await run('deliveries', 'list')).toMatchObject({ status: 0 });
    await workspace.receive(fullEvent({ type: 'contract.ended' }));

    vi.stubEnv('GANGWAY_SECRET_KEY', old.toString('base64'));
    expect(await run('deliveries', 'list')).toMatchObject(refused('written with another secret key'));
  });

  it('rotate is refused while an instance runs, and does not change the key', async () => {
    const old = readKey();
    await workspace.whileRunning(async () => {
      expect(await run('key', 'rotate')).toMatchObject(refused(/Gangway is running \(.+\/\d+\): stop it/));
      expect(readKey()).toEqual(old);
    });
    expect(await run('key', 'rotate')).toMatchObject({ status: 0 });
    expect(readKey()).not.toEqual(old);
    await workspace.receive(fullEvent({ type: 'contract.ended' }));
  });

  it('rotate is refused while another process holds the lock of the database', async () => {
    const database = openDatabase(`sqlite:${path.join(workspace.folder, 'gangway.db')}`);
    const alive = createAliveLock(database, systemClock, []);
    await alive.hold('command');
    const says = 'Another gangway process uses the database: wait until it has finished';
    expect(await run('key', 'rotate')).toMatchObject(refused(says));
    alive.release();
    await database.close();
    expect(await run('key', 'rotate')).toMatchObject({ status: 0 });
  });

  it('rotate finishes an earlier one that was killed before it replaced the key file', async () => {
    const old = readFileSync(keyFile);
    await run('key', 'rotate');
    renameSync(keyFile, `${keyFile}.next`);
    writeFileSync(keyFile, old, { mode: 0o600 });
    const says = 'if "gangway key rotate" was interrupted, run it again';
    expect(await run('deliveries', 'list')).toMatchObject(refused(says));
    expect((await run('key', 'rotate')).stdout).toMatch(/^0 sealed anew; the key is now /);
    expect(existsSync(`${keyFile}.next`)).toBe(false);
    expect(await run('deliveries', 'show', '1')).toMatchObject({ status: 0 });
  });

  it('rotate uses the configured keys, and creates none', async () => {
    const old = readKey();
    const next = randomBytes(32).toString('base64');
    vi.stubEnv('GANGWAY_SECRET_KEY', next);
    expect(await run('key', 'rotate')).toMatchObject(refused(/nothing to replace.*GANGWAY_SECRET_KEY_PREVIOUS/));
    vi.stubEnv('GANGWAY_SECRET_KEY_PREVIOUS', old.toString('base64'));
    expect(await run('deliveries', 'list')).toMatchObject({ status: 1 });
    const { stdout } = await run('key', 'rotate', '--json');
    const { fingerprint } = createSecretBox(Buffer.from(next, 'base64'));
    expect(JSON.parse(stdout)).toEqual({ fingerprint, resealed: 2, unopened: 0 });
    expect(existsSync(`${keyFile}.next`)).toBe(false);

    vi.stubEnv('GANGWAY_SECRET_KEY_PREVIOUS', undefined);
    expect(await run('deliveries', 'show', '1')).toMatchObject({ status: 0 });
  });
});
