import type { Config } from '../config/config-schema.ts';
import type { Storage } from '../context.ts';
import { AppError } from '../domain/errors.ts';
import type { Install } from '../domain/install.ts';
import type { RestToken } from '../lib/rest-client.ts';
import { createEmployerSource } from '../marketplace/employer/create-employer-source.ts';
import { createPlatformSource } from '../marketplace/platform/create-platform-source.ts';
import { fixedLinks, type Grant, type JobLinks, type Source } from '../marketplace/source.ts';
import { checkBinding } from './binding-store.ts';
import { readRevision } from './install-store.ts';
import { createJobLinks } from './job-link-store.ts';
import { loadInstalls } from './load-installs.ts';
import { currentToken } from './replaced-token-store.ts';

/** All installs of the configuration and of the database, each with its source. Each load updates the Maps in place. */
export interface InstallRegistry {
  readonly installs: ReadonlyMap<string, Install>;
  /** Each source answers only for the customer that its install is bound to. */
  readonly sources: ReadonlyMap<string, Source>;
  /** The source for a token that belongs to no install yet. It checks no customer. @param jobs as `fixedLinks` */
  openSource(account: Pick<Install, 'source' | 'token'>, jobs: Parameters<typeof fixedLinks>[0]): Source;
  /** The same account as an install has, with this token and no other. It checks no customer. */
  openWith(install: string, token: string): Source;
  /**
   * Loads what is stored, if it has changed since the last time.
   *
   * @returns the names of the installs that were added, removed or routed differently
   * @throws AppError `conflict` if an install is in the configuration and in the database
   */
  load(): Promise<string[]>;
}

/** It is empty until it is loaded. */
export function createInstallRegistry(ctx: Storage, config: Config): InstallRegistry {
  const { database } = ctx;
  const { marketplace } = config;
  const installs = new Map<string, Install>();
  const sources = new Map<string, Source>();
  const open = (name: string, { source, jobs }: Pick<Install, 'source' | 'jobs'>, token: RestToken) =>
    createSource(marketplace, { source, token }, createJobLinks(database, name, jobs));
  const openBound = (name: string, install: Install) =>
    bindSource(
      open(name, install, () => currentToken(ctx, install.token)),
      (grant) => checkBinding(ctx, name, grant, new Set(installs.keys())),
    );
  let revision: string | undefined;

  function adopt(next: Map<string, Install>): string[] {
    const names = [...new Set([...installs.keys(), ...next.keys()])];
    const changed = names.filter((name) => isRoutedDifferently(installs.get(name), next.get(name)));
    for (const name of names) {
      const install = next.get(name);
      if (install === undefined) {
        installs.delete(name);
        sources.delete(name);
        continue;
      }
      // Kept as long as its token, because it paces the requests and remembers how long it must wait.
      if (install.token !== installs.get(name)?.token) {
        sources.set(name, openBound(name, install));
      }
      installs.set(name, install);
    }
    return changed;
  }

  return {
    installs,
    sources,
    openSource: ({ source, token }, jobs) =>
      createSource(marketplace, { source, token: () => currentToken(ctx, token) }, fixedLinks(jobs)),
    openWith(name, token) {
      const install = installs.get(name);
      if (install === undefined) throw new AppError('not_found', `There is no install ${name}`);
      return open(name, install, token);
    },
    async load() {
      const found = await readRevision(database.kysely);
      if (found === revision) return [];
      const changed = adopt(await loadInstalls(ctx, config));
      revision = found;
      return changed;
    },
  };
}

/** Creates the source of an install. Only this function knows the kinds of sources. */
function createSource(
  { baseUrl, employerBaseUrl }: Config['marketplace'],
  { source, token }: Pick<Install, 'source'> & { token: RestToken },
  links: JobLinks,
): Source {
  return source === 'platform'
    ? createPlatformSource({ baseUrl, token })
    : createEmployerSource({ baseUrl: employerBaseUrl, token, links });
}

function isRoutedDifferently(before: Install | undefined, after: Install | undefined): boolean {
  if (before === undefined || after === undefined) return true;
  return before.tool !== after.tool || before.projects.join('\n') !== after.projects.join('\n');
}

/** The source of each install, for when only the configuration is available. */
export function openSources({ installs, marketplace }: Config): Map<string, Source> {
  return new Map(
    [...installs].map(([name, install]) => [name, createSource(marketplace, install, fixedLinks(install.jobs))]),
  );
}

/** What a source offers before it is known whose its token is. */
const free: ReadonlySet<string> = new Set<keyof Source>(['findDeviations', 'clockDriftMs']);

/**
 * The source of one install. Each call asks first whose the token is. With the token of another customer it reads
 * nothing and changes nothing. A token belongs to one grant for good, so one good answer is enough.
 *
 * @param check throws if the grant is another customer's
 */
export function bindSource(source: Source, check: (grant: Grant) => Promise<void>): Source {
  let isKnown = false;

  async function readGrant(signal: AbortSignal): Promise<Grant> {
    const grant = await source.readGrant(signal);
    await check(grant);
    isKnown = true;
    return grant;
  }

  const bind = (call: (...given: unknown[]) => unknown) => {
    return async (...given: unknown[]) => {
      const signal = given.find((one) => one instanceof AbortSignal) ?? new AbortController().signal;
      if (!isKnown) await readGrant(signal);
      return await call(...given);
    };
  };
  // Methods that the source lacks stay missing.
  const bound = Object.entries(source).map(([name, value]) => [
    name,
    typeof value === 'function' && !free.has(name) ? bind(value) : value,
  ]);
  return { ...(Object.fromEntries(bound) as Source), readGrant };
}
