import { describe, expect, it } from '@jest/globals';
import { QueryFailedError } from 'typeorm';
import { isDiskFull, isUnavailable } from './errors.js';

/** An error of mysql2, as TypeORM throws it. */
const failed = (members: object, message = ''): QueryFailedError =>
  new QueryFailedError('SELECT 1', [], Object.assign(new Error(message), members));

describe('errors of the driver', () => {
  it.each([
    ['ECONNREFUSED', -111],
    ['ECONNRESET', -104],
    ['EPIPE', -32],
    ['ETIMEDOUT', undefined],
    ['ENOTFOUND', -3008],
    ['EPROTO', -71],
    ['ERR_SSL_BAD_RECORD_TYPE', undefined],
    ['HANDSHAKE_SSL_ERROR', undefined],
    ['HANDSHAKE_NO_SSL_SUPPORT', undefined],
    ['HANDSHAKE_UNKNOWN_ERROR', undefined],
    ['AUTH_SWITCH_PLUGIN_ERROR', undefined],
    ['PROTOCOL_CONNECTION_LOST', undefined],
    ['PROTOCOL_UNEXPECTED_PACKET', undefined],
    ['PROTOCOL_ERROR', undefined],
  ])('%s ends the connection, so the database is unavailable', (code, errno) => {
    expect(isUnavailable(failed({ code, errno, fatal: true }))).toBe(true);
    expect(isUnavailable(Object.assign(new Error(), { code, errno, fatal: true }))).toBe(true);
  });

  it.each(['Queue limit reached.', 'Pool is closed.', "Can't write in closed state"])(
    '“%s”, which has no code, means that the database is unavailable',
    (message) => expect(isUnavailable(new Error(message))).toBe(true),
  );

  it('a statement that timed out means that the database is unavailable', () => {
    expect(isUnavailable(failed({ code: 'PROTOCOL_SEQUENCE_TIMEOUT' }))).toBe(true);
  });
});

describe('errors of the server', () => {
  it.each([1, 2, 5, 22, 27, 93])('error %i is one of its files: the database is unavailable', (errno) => {
    expect(isUnavailable(failed({ errno, sqlState: 'HY000' }))).toBe(true);
  });

  it.each([1042, 1043, 1080, 1081, 1152, 1156, 1184, 1251])(
    'error %i is of a connection: the database is unavailable',
    (errno) => expect(isUnavailable(failed({ errno, sqlState: '08S01' }))).toBe(true),
  );

  it.each([3, 20, 1021, 1026, 1114, 1811, 1878, 3019, 3675])('error %i means that the disk is full', (errno) => {
    expect(isDiskFull(failed({ errno }))).toBe(true);
    expect(isUnavailable(failed({ errno }))).toBe(true);
  });

  it.each([
    ['a duplicate', 1062, '23000'],
    ['a syntax error', 1064, '42000'],
    ['a statement larger than max_allowed_packet', 1153, '08S01'],
    ['a value that is too long', 1406, '22001'],
    ['a trigger that refuses', 1644, '45000'],
    ['a broken CHECK', 3819, 'HY000'],
  ])('%s (%i) is no unavailable database', (_, errno, sqlState) => {
    expect(isUnavailable(failed({ errno, sqlState }))).toBe(false);
  });
});
