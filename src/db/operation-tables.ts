import type { ErrorCode } from '../domain/errors.ts';

/** Tables of `tables.ts` that tell an operator how the running instances are doing. */

export interface OperationTables {
  instance: InstanceTable;
  toolTrouble: ToolTroubleTable;
  removalTotal: RemovalTotalTable;
}

/** A process that receives and provisions, or has done so. */
interface InstanceTable {
  id: string;
  /** Of its machine. */
  name: string;
  version: string;
  startedAt: string;
  /** When it was alive last. */
  beatAt: string;
  /** When it ended in peace. */
  stoppedAt: string | null;
}

/** A tool that fails its check, and is left alone for that. */
interface ToolTroubleTable {
  tool: string;
  errorCode: ErrorCode;
  message: string;
  since: string;
  /** When it was asked last. */
  askedAt: string;
}

/** Every receipt that says `removed`, counted when it was written. */
interface RemovalTotalTable {
  install: string;
  removed: number;
}
