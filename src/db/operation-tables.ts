import type { Instance } from '../domain/instance.ts';
import type { ToolTrouble } from '../domain/tool-trouble.ts';

/** Tables of `tables.ts` that tell an operator how the running instances are doing. */

export interface OperationTables {
  instance: Instance;
  toolTrouble: ToolTrouble;
  removalTotal: RemovalTotalTable;
}

/** Every receipt that says `removed`, counted when it was written. */
interface RemovalTotalTable {
  install: string;
  removed: number;
}
