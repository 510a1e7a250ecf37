import { employerEventTypes } from '../../domain/event.ts';
import { isGranted } from '../scopes.ts';

/**
 * What a webhook of an account delivers, by the scope without which a subscription to it is refused (spec: part A
 * sections 4.9 and 6). What is delivered of proposals and messages is counted, and means nothing here.
 */
const typesOfScope = {
  'payments:read': employerEventTypes,
  'proposals:read': ['proposal.received', 'proposal.status_changed'],
  'messages:read': ['message.received'],
};

export function eventTypesOf(granted: readonly string[]): string[] {
  return Object.entries(typesOfScope).flatMap(([scope, types]) => (isGranted(granted, scope) ? types : []));
}
