import { describe, expect, it, jest } from '@jest/globals';
import { type Response } from 'express';
import { type AppRequest } from './app-request.js';
import { assignRequestId } from './http-server.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function idFor(offered?: string | string[]): string {
  const request = { headers: { 'x-request-id': offered } } as unknown as AppRequest;
  const setHeader = jest.fn();
  assignRequestId(request, { setHeader } as unknown as Response, () => undefined);
  expect(setHeader).toHaveBeenCalledWith('x-request-id', request.id);
  return request.id;
}

describe('the ID of a request', () => {
  it.each(['a', 'A-1_2.z', 'x'.repeat(128)])('the ID %s of the caller is kept', (offered) => {
    expect(idFor(offered)).toBe(offered);
  });

  it.each([undefined, '', 'x'.repeat(129), 'a b', 'a\n', 'a,b', 'ação', '{"a":1}', ['a', 'b']])(
    'a new ID replaces %j',
    (offered) => {
      expect(idFor(offered)).toMatch(UUID);
      expect(idFor(offered)).not.toBe(idFor(offered));
    },
  );
});
