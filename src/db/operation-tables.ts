import type { Instance } from '../domain/instance.ts';
import type { ToolTrouble } from '../domain/tool-trouble.ts';

/** The tables about running instances, for operators. */

export interface OperationTables {
  instance: Instance;
  toolTrouble: ToolTrouble;
  removalTotal: RemovalTotalTable;
}

/** The number of receipts with `removed`, counted when they are written. */
interface RemovalTotalTable {
  install: string;
  removed: number;
}
