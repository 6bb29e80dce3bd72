import { expect } from '@jest/globals';
import type { Finding } from '../../src/reconcile/page.js';
import { ReconcileService } from '../../src/reconcile/reconcile.service.js';
import type { Answer } from './client.js';
import type { Service } from './service.js';
import { untilAvailable } from './until-available.js';

/** Expects a complete and valid problem with this code. */
export function expectProblem(answer: Answer, status: number, code: string): void {
  expect({ status: answer.status, code: answer.body.code, body: answer.body }).toMatchObject({ status, code });
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(answer.body).toMatchObject({
    type: `urn:problem:cashback:${code}`,
    title: expect.any(String),
    status,
    detail: expect.any(String),
    instance: expect.any(String),
    request_id: answer.headers.get('x-request-id'),
    retryable: expect.any(Boolean),
    next_action: expect.any(String),
  });
}

/** Expects a 201 that is no replay, unless the client repeated: an earlier attempt may have been answered too late. */
export function expectCreation({ status, headers, isRepeated }: Answer): void {
  expect(status).toBe(201);
  expect(isRepeated ? null : headers.get('idempotency-replayed')).toBeNull();
}

/**
 * The number of creations among the responses to equal requests. If all are replays and some requests were repeated,
 * one of them created it and was answered too late.
 */
export function creationsAmong(answers: Answer[]): number {
  const created = answers.filter(({ status, headers }) => status === 201 && !headers.has('idempotency-replayed'));
  return created.length === 0 && answers.some(({ isRepeated }) => isRepeated) ? 1 : created.length;
}

/** The pointers of a validation problem, sorted. */
export function pointersOf(answer: Answer): string[] {
  return (answer.body.errors as { pointer: string }[]).map(({ pointer }) => pointer).sort();
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
