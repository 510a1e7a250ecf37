import type { DeliveryState } from '../../domain/delivery.ts';
import type { AddressMissing } from '../../domain/evidence.ts';
import { absences, bigint, bytes, counter, instant, integer, sealed, table, text, version } from '../columns.ts';
import { addressDigest, bodyContext, workEmailContext } from '../seal-contexts.ts';

export const evidence = {
  delivery: table(['id'], {
    id: counter(),
    install: text(),
    /** `toBodyKey` of the body. */
    bodySha256: bytes(),
    deliveryId: text().nullable(),
    eventType: text().nullable(),
    /** The contract, link or install that the event is about; null if that is not known. */
    subjectId: text().nullable(),
    receivedAt: instant(),
    state: text<DeliveryState>(),
    attempts: integer().optional(),
    /** When to handle it (again); null when there is nothing to do. */
    nextAttemptAt: instant().nullable(),
    /** Why it is not handled, in a few words. */
    failure: text().nullable(),
    /** The version of the code that read the event in it. */
    readerVersion: integer(),
    headers: text(),
    /** Empty if it was not kept. */
    body: sealed(bodyContext),
  }),

  /** How much an install has stored: the sum of its rows. */
  installStorage: table(['install', 'part'], {
    install: text(),
    part: integer(),
    bytes: bigint(),
  }),

  contract: table(['install', 'contractId'], {
    install: text(),
    contractId: text(),
    startedEventAt: instant().nullable(),
    endedEventAt: instant().nullable(),
    activeReadAt: instant().nullable(),
    endedReadAt: instant().nullable(),
    endedByOperatorAt: instant().nullable(),
    reopenedAt: instant().nullable(),
    participantsReadAt: instant().nullable(),
    budgetEventAt: instant().nullable(),
    title: text().nullable(),
    titleVersion: version().nullable(),
    startDate: instant('kept').nullable(),
    startDateVersion: version().nullable(),
    endDate: instant('kept').nullable(),
    endDateVersion: version().nullable(),
  }),

  /** The target of a link never changes: re-pointing a project deletes one link and creates another. */
  link: table(['install', 'linkId'], {
    install: text(),
    linkId: text(),
    removedEventAt: instant().nullable(),
    firstSeenAt: instant().nullable(),
    seenAt: instant().nullable(),
    absences: absences().nullable(),
    contractsReadAt: instant().nullable(),
    externalProjectId: text().nullable(),
    externalProjectName: text().nullable(),
    externalProjectUrl: text().nullable(),
    provisioningMode: text().nullable(),
    provisioningModeVersion: version().nullable(),
    jobId: text().nullable(),
  }),

  installGrant: table(['install', 'grantId'], {
    install: text(),
    grantId: text(),
    revokedEventAt: instant().nullable(),
    revokedReceivedAt: instant().nullable(),
    firstActiveReadAt: instant().nullable(),
    activeReadAt: instant().nullable(),
  }),

  /** Comes only from a record that names both the contract and the link. */
  contractLink: table(['install', 'contractId', 'linkId'], {
    install: text(),
    contractId: text(),
    linkId: text(),
    namedAt: instant().nullable(),
    omissions: absences().nullable(),
  }),

  participation: table(['install', 'contractId', 'trainerId'], {
    install: text(),
    contractId: text(),
    trainerId: text(),
    seenAt: instant(),
    absences: absences().nullable(),
  }),

  /** As `PersonEvidence`, but the address is encrypted and found by its digest. */
  person: table(['install', 'trainerId'], {
    install: text(),
    trainerId: text(),
    displayName: text().nullable(),
    displayNameVersion: version().nullable(),
    workEmailVersion: version().nullable(),
    addressMissing: text<AddressMissing>().nullable(),
    addressMissingVersion: version().nullable(),
    workEmail: sealed(workEmailContext, addressDigest).nullable(),
    workEmailDigest: text().nullable(),
    /** Not encrypted, because it names no person. In lower case. */
    workEmailDomain: text().nullable(),
  }),

  /** When a contract was first seen to have ended, if no event gives the time. */
  contractEnd: table(['install', 'contractId'], {
    install: text(),
    contractId: text(),
    seenAt: instant(),
  }),

  /** Trainers whose personal data an install does not keep until they have a contract again. */
  forgottenPerson: table(['trainerId', 'install'], {
    install: text(),
    trainerId: text(),
    forgottenAt: instant(),
  }),

  /** A contract to be read, because an event left something out. */
  readRequest: table(['install', 'contractId'], {
    install: text(),
    contractId: text(),
    wantedAt: instant(),
    attempts: integer().optional(),
    nextAttemptAt: instant(),
  }),
};
