import { createPlatformApi, type PlatformApi } from '../marketplace/platform-api.ts';

/** The marketplace API of each install, for when only the configuration is available. */
export function openPlatformApis(
  installs: ReadonlyMap<string, { token: string }>,
  baseUrl: string,
): Map<string, PlatformApi> {
  return new Map([...installs].map(([install, { token }]) => [install, createPlatformApi({ baseUrl, token })]));
}
