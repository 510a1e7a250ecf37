import { changedSources } from './changed-sources.ts';

const caller = 'src/sources/http/caller.ts';

/**
 * A bridge in a test's own process does not wait in real time for the marketplace: not for its turn after the twentieth
 * request, nor before a retry, while both endpoints of a rotation deliver, or between two looks at an approval. A test
 * of the pace sets its own.
 */
export const unpaced = changedSources('unpaced', [
  {
    file: caller,
    find: 'requestsPerSecond: 10, burst: 20',
    replace: 'requestsPerSecond: 10_000, burst: 10_000',
  },
  { file: caller, find: 'firstWaitMs: 500', replace: 'firstWaitMs: 5' },
  {
    file: 'src/installs/subscription/rotate-endpoint.ts',
    find: 'overlapMs = usualOverlapMs',
    replace: 'overlapMs = usualOverlapMs / 10',
  },
  { file: 'src/operator/end-at-marketplace.ts', find: '[2000, 60_000]', replace: '[20, 20]' },
]);
