import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { AppError } from '../domain/errors.ts';
import { urlOf } from '../lib/http-server.ts';
import type { Printed } from './define-command.ts';
import type { Session } from './session.ts';
import { loadCommandConfig, toQuery } from './with-storage.ts';

/** `gangway open`: the console of an instance with this configuration. */
export async function runOpen({ json }: { json: boolean }, session: Session): Promise<Printed> {
  const { console: listener } = loadCommandConfig(session, []).config;
  if (listener.tokens.size === 0) {
    throw new AppError('not_found', 'The console is off. Add console.tokens to the configuration and restart');
  }
  if (listener.port === 0)
    throw new AppError('invalid', 'console.port is 0, so only "gangway start" knows the address');
  const url = urlOf(listener);
  const isForPerson = !json && (session.terminal.stdout as { isTTY?: boolean }).isTTY === true;
  const isOpened = isForPerson && (await openBrowser(url, toQuery(session).env));
  return { data: { url, isOpened }, text: () => url };
}

/** @returns whether this machine has a program that opens browsers */
async function openBrowser(url: string, env: Readonly<Record<string, string | undefined>>): Promise<boolean> {
  const hasDesktop = Boolean(env['DISPLAY'] || env['WAYLAND_DISPLAY']);
  const [program, ...args] =
    { darwin: ['open'], win32: ['rundll32', 'url.dll,FileProtocolHandler'] }[process.platform as string] ??
    (hasDesktop ? ['xdg-open'] : []);
  if (program === undefined) return false;
  const child = spawn(program, [...args, url], { detached: true, stdio: 'ignore' });
  child.unref();
  return await once(child, 'spawn').then(
    () => true,
    () => false,
  );
}
