import { listed, operations } from '../marketplace/contract/contract.ts';
import { methodOf, pathOf } from '../marketplace/contract/operation.ts';
import { reliedOn } from '../marketplace/relied-on.ts';
import { type Columns, fieldColumns } from '../operations/show.ts';
import { formatList } from '../operations/text-table.ts';
import { employerRoutes } from '../sandbox/employer/employer-api.ts';
import { authRoutes } from '../sandbox/employer/identity-routes.ts';
import { platformRoutes } from '../sandbox/platform-api.ts';
import { type Printed, toKebab } from './define-command.ts';

/** An operation of the marketplace's API, and what there is of it. `note`: what is assumed, or what is listed. */
type Coverage = ReturnType<typeof listCoverage>[number];

export function listCoverage() {
  const routes = [...platformRoutes, ...employerRoutes, ...authRoutes];
  const served = new Set(routes.map(({ operation }) => operation.id));
  const declared = operations.map((operation) => {
    const { id, family, name, section, assumed } = operation;
    const states = [
      assumed === undefined ? 'declared' : 'assumed',
      ...(served.has(id) ? ['in the sandbox'] : []),
      ...(reliedOn.has(id) ? ['relied on'] : []),
    ];
    const address = { method: methodOf(operation), path: pathOf(operation) };
    return { family, operation: toKebab(name), ...address, section, states, note: assumed ?? null };
  });
  const nothing = { operation: null, method: null, path: null };
  const only = listed.map(({ what, ...one }) => ({ ...nothing, ...one, states: ['listed only'], note: what }));
  return [...declared, ...only];
}

const columns: Columns<Coverage> = [
  ...fieldColumns('family', 'operation', 'method', 'path', 'section'),
  ['states', ({ states }) => states.join(', ')],
  ['note', ({ note }) => note],
];

/** `gangway marketplace coverage` */
export function runCoverage(): Printed {
  const all = listCoverage();
  return { data: { operations: all }, text: () => formatList(all, columns, '') };
}
