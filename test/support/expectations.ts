import { expect } from '@jest/globals';
import type { Finding } from '../../src/operations/reconcile/page.js';
import { ReconcileService } from '../../src/operations/reconcile/reconcile.service.js';
import type { Answer } from './client.js';
import type { Service } from './service.js';
import { untilAvailable } from './until-available.js';

/** A problem as docs/errors.md has it, with the members that only some codes have. */
export interface Problem {
  code: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  request_id: string;
  next_action: string;
  errors: { pointer: string; parameter: string; detail: string }[];
  [member: string]: unknown;
}

/** Expects a complete and valid problem with this code, and returns it. */
export function expectProblem(answer: Answer<unknown>, status: number, code: string): Problem {
  const problem = answer.body as Problem;
  expect({ status: answer.status, code: problem.code, body: problem }).toMatchObject({ status, code });
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(problem).toMatchObject({
    type: `urn:problem:cashback:${code}`,
    title: expect.any(String),
    status,
    detail: expect.any(String),
    instance: expect.any(String),
    request_id: answer.headers.get('x-request-id'),
    retryable: expect.any(Boolean),
    next_action: expect.any(String),
  });
  return problem;
}

/** Expects a 201 that is no replay, unless the client repeated: an earlier attempt may have been answered too late. */
export function expectCreation({ status, headers, isRepeated }: Answer<unknown>): void {
  expect(status).toBe(201);
  expect(isRepeated ? null : headers.get('idempotency-replayed')).toBeNull();
}

/**
 * The number of changes among the responses to equal requests. If all are replays and some requests were repeated, one
 * of them changed it and was answered too late.
 */
export function changesAmong(answers: Answer<unknown>[]): number {
  const changed = answers.filter(({ status, headers }) => status < 300 && !headers.has('idempotency-replayed'));
  return changed.length === 0 && answers.some(({ isRepeated }) => isRepeated) ? 1 : changed.length;
}

/** The pointers of a validation problem, sorted. */
export function pointersOf(problem: Problem | Answer<unknown>): string[] {
  const { errors } = 'body' in problem ? (problem.body as Problem) : problem;
  return errors.map(({ pointer }) => pointer).sort();
}

/** Expects the money invariants to hold for the whole database. */
export async function expectInvariants(service: Service): Promise<void> {
  expect(await findingsOf(service)).toEqual([]);
}

/** The findings of `reconcile` in the database of the service. */
export function findingsOf(service: Service): Promise<Finding[]> {
  return untilAvailable(async () => {
    const findings: Finding[] = [];
    await service.app.get(ReconcileService).reconcile({ onFinding: (finding) => findings.push(finding) });
    return findings;
  });
}
