import type { Policy } from '../merchants/policy.js';
import { newDocumentFault } from '../platform/values/document.js';
import { type Problem, validationFailed } from '../platform/values/problem.js';

/** Returns a refusal of a document that no new order or grant can have; undefined if there is none. */
export function newCustomerProblem(document: string, policy: Policy): Problem | undefined {
  const detail = newDocumentFault(document, policy);
  return detail === undefined ? undefined : validationFailed([{ pointer: '/document', detail }]);
}

/** @throws Problem validation_failed. */
export function refuseNewCustomer(document: string, policy: Policy): void {
  const problem = newCustomerProblem(document, policy);
  if (problem !== undefined) throw problem;
}
