import { createPlatformApi, type PlatformApi } from '../marketplace/platform-api.ts';

/** Each install's way to the marketplace, where there is nothing but the configuration. */
export function openPlatformApis(
  installs: ReadonlyMap<string, { token: string }>,
  baseUrl: string,
): Map<string, PlatformApi> {
  return new Map([...installs].map(([install, { token }]) => [install, createPlatformApi({ baseUrl, token })]));
}
