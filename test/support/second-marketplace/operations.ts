import { contractOperations } from './contract-operations.ts';
import { endpointOperations } from './endpoint-operations.ts';
import { linkOperations } from './link-operations.ts';
import type { MarketState } from './market-state.ts';
import type { InstallRecord } from './records.ts';
import { showInstall } from './shapes.ts';

/** One call, as it arrived and after the token was checked. */
export interface Call {
  state: MarketState;
  install: InstallRecord;
  /** What stands at the placeholders of the path, in their order. */
  ids: string[];
  query: URLSearchParams;
  body: Record<string, unknown>;
}

export interface Operation {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** A placeholder is `{id}`. */
  path: string;
  /** Any of them will do; none means any valid token. */
  scopes: string[];
  status?: number;
  answer(call: Call): object;
}

/** All 15 of the specification. */
export const operations: Operation[] = [
  {
    method: 'GET',
    path: '/installs/current',
    scopes: [],
    answer: ({ install }) => ({ install: showInstall(install) }),
  },
  ...linkOperations,
  ...contractOperations,
  ...endpointOperations,
];
