import { describe, expect, it } from 'vitest';
import { explainAll } from '../../src/manuals/push-manual.ts';
import { conflictCodes } from '../../src/marketplace/contract/refusals.ts';

const nothing = { message: null, pageId: 'pg_1', nodeId: null, currentRevisionNumber: null, currentChecksum: null };

describe('a conflict', () => {
  it.each(conflictCodes)('%s names the page and the change, what is wrong, and what to do', (code) => {
    const changes = [{ page: 'signs/intro', says: 'edit' }];
    const [says] = explainAll([{ operationIndex: 0, code, ...nothing }], changes);
    expect(says).toMatch(/^signs\/intro \(edit\): [a-z][^.]+\. [A-Z][^.]+$/);
  });

  it('that is new, or about no known change, says what the marketplace says', () => {
    const conflict = { operationIndex: null, code: 'NEW_ONE', ...nothing, message: 'It is new' };
    expect(explainAll([conflict], [])).toEqual(['pg_1: NEW_ONE. It is new']);
  });
});
