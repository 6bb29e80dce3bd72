import { expect } from '@jest/globals';
import type { Finding } from '../../src/reconcile/page.js';
import { ReconcileService } from '../../src/reconcile/reconcile.service.js';
import type { Answer } from './client.js';
import type { Service } from './service.js';

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

/** The pointers of a validation problem, sorted. */
export function pointersOf(answer: Answer): string[] {
  return (answer.body.errors as { pointer: string }[]).map(({ pointer }) => pointer).sort();
}

/** Expects the money invariants to hold for the whole database. */
export async function expectInvariants(service: Service): Promise<void> {
  expect(await findingsOf(service)).toEqual([]);
}

/** The findings of `reconcile` in the database of the service. */
export async function findingsOf(service: Service): Promise<Finding[]> {
  const findings: Finding[] = [];
  await service.app.get(ReconcileService).reconcile({ onFinding: (finding) => findings.push(finding) });
  return findings;
}
