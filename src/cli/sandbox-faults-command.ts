import { AppError } from '../domain/errors.ts';
import type { FaultsInForce } from '../sandbox/controls.ts';
import type { Fault, Faults } from '../sandbox/faults/faults-schema.ts';
import type { Snapshot } from '../sandbox/snapshot.ts';
import type { Printed } from './define-command.ts';
import { ask, type ControlOptions, toAnswer } from './sandbox-control.ts';
import { type FaultOptions, toFaults } from './sandbox-fault-options.ts';
import type { Session } from './session.ts';
import type { Terminal } from './terminal.ts';

interface FaultsOptions extends FaultOptions, ControlOptions {
  install: string | undefined;
  clear: boolean;
}

export async function runSandboxFaults(options: FaultsOptions, { terminal }: Session): Promise<Printed> {
  const { url, install, clear } = options;
  const faults = toFaults(options);
  if (faults !== undefined && clear) {
    throw new AppError('invalid', '--clear goes without faults: they replace what was set');
  }
  if (faults === undefined && !clear) return await showFaults(terminal, url);
  const inForce = await ask<FaultsInForce>(terminal, url, '/faults', { installId: install, faults });
  return toAnswer(inForce, [describeFaults(inForce.installId, inForce.faults)]);
}

async function showFaults(terminal: Terminal, url: string): Promise<Printed> {
  const { faults } = await ask<Snapshot>(terminal, url, '/state');
  const happened = faults.happened.map(
    ({ fault, installId, deliveryId, operation }) => `  ${fault}  ${deliveryId ?? operation}  ${installId}`,
  );
  return toAnswer(faults, [
    describeFaults(null, faults.allInstalls),
    ...Object.entries(faults.installs).map(([id, ofInstall]) => describeFaults(id, ofInstall)),
    happened.length === 0 ? 'Happened: none' : 'Happened, oldest first:',
    ...happened,
  ]);
}

function describeFaults(installId: string | null, faults: Faults): string {
  const who = installId === null ? 'All installs' : `Install ${installId}`;
  const all: [string, Fault | undefined][] = Object.entries(faults);
  const described = all.flatMap(([kind, fault]) => (fault ? [describeFault(kind, fault)] : []));
  return `${who}: ${described.join(', ') || 'no faults'}`;
}

function describeFault(kind: string, { probability, ...rest }: Fault): string {
  const more = Object.entries(rest).map(([name, value]) => ` (${name} ${value})`);
  return [kind, ' ', probability, ...more].join('');
}
