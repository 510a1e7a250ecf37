import { createContractCalls } from './contract-calls.ts';
import { createEndpointCalls } from './endpoint-calls.ts';
import { createLinkCalls } from './link-calls.ts';
import type { PlatformApi } from './platform-api.ts';
import { createPlatformCaller, type PlatformCallOptions } from './platform-caller.ts';
import { InstallAnswer, OpenapiDocument } from './platform-schema.ts';

export function createPlatformApi(options: PlatformCallOptions): PlatformApi {
  const { call, clockDriftMs } = createPlatformCaller(options);
  return {
    ...createLinkCalls(call),
    ...createContractCalls(call),
    ...createEndpointCalls(call),

    async getInstall(signal) {
      const operation = { path: '/installs/current', purpose: 'read the install' };
      return (await call({ ...operation, answer: InstallAnswer }, signal)).install;
    },

    async readOpenapi(signal) {
      const operation = { path: '/openapi.json', purpose: 'read the description of the API' };
      return await call({ ...operation, answer: OpenapiDocument, isAnonymous: true }, signal);
    },

    clockDriftMs,
  };
}
