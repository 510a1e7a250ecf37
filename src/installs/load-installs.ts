import type { Config } from '../config/config-schema.ts';
import type { Storage } from '../context.ts';
import { AppError } from '../domain/errors.ts';
import type { Install } from '../domain/install.ts';
import { listConnectedInstalls, listEndpoints } from './install-store.ts';

/**
 * All installs of the configuration and of the database, without their sources.
 *
 * @throws AppError `conflict` if an install is in both
 */
export async function loadInstalls(ctx: Storage, { installs: configured }: Config): Promise<Map<string, Install>> {
  const connected = await listConnectedInstalls(ctx);
  const both = connected.map(({ install }) => install).filter((name) => configured.has(name));
  if (both.length > 0) throw configuredAndConnected(both);
  const secretsOf = Map.groupBy(await listEndpoints(ctx), ({ install }) => install);
  const withSecrets = (name: string, install: Omit<Install, 'webhookSecrets'>, own: string[]) => {
    const stored = (secretsOf.get(name) ?? []).flatMap(({ secret }) => secret ?? []);
    return [name, { ...install, webhookSecrets: [...new Set([...stored, ...own])] }] as const;
  };
  return new Map([
    ...[...configured].map(([name, install]) =>
      withSecrets(name, { ...install, livesIn: 'configuration' }, [...install.webhookSecrets]),
    ),
    ...connected.map(({ install, source, token, tool, projects }) =>
      withSecrets(
        install,
        { source, token, jobs: new Map(), tool, projects, guidelines: false, livesIn: 'database' },
        [],
      ),
    ),
  ]);
}

function configuredAndConnected(names: string[]): AppError {
  return new AppError(
    'conflict',
    `Both in the configuration and connected by command: ${names.join(', ')}. Remove it from the configuration, or run "gangway installs remove <name>"`,
  );
}

/** Settings that are valid but probably a mistake, one line each. */
export function warningsOfInstalls(installs: ReadonlyMap<string, Install>, publicUrl: string | undefined): string[] {
  if (installs.size === 0) {
    return ['No customer is connected, so every webhook is refused. Run gangway connect <name>'];
  }
  if (publicUrl === undefined) return [];
  return [...installs]
    .filter(([, { webhookSecrets }]) => webhookSecrets.length === 0)
    .map(([name]) => `No webhook secret of ${name} is known, so its webhooks are refused. Run gangway connect ${name}`);
}
