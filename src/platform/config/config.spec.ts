import { describe, expect, it } from '@jest/globals';
import { ConfigError, loadConfig, signingSecrets } from './config.js';

const SECRET = 'Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZg==';
const environment = (variables: Record<string, string | undefined> = {}): Record<string, string | undefined> => ({
  DATABASE_URL: 'mysql://cashback:secret@db:3306/cashback',
  JWT_SECRET: SECRET,
  ...variables,
});

/** The variables that the error message names. */
function rejectedVariables(env: Record<string, string | undefined>): string[] {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults.map((fault) => fault.split(' ')[0] ?? '').sort();
    throw error;
  }
  return [];
}

describe('the configuration', () => {
  it('the configuration has safe defaults', () => {
    expect(loadConfig(environment())).toMatchObject({
      NODE_ENV: 'production',
      HOST: '127.0.0.1',
      PORT: 3000,
      BCRYPT_COST: 10,
      ACCESS_TOKEN_TTL_SECONDS: 3600,
      REFRESH_TOKEN_TTL_SECONDS: 30 * 86_400,
      SESSION_TTL_SECONDS: 90 * 86_400,
      REFRESH_RETRY_WINDOW_SECONDS: 30,
      DOCUMENT_CHECK_DIGITS: false,
      LOG_LEVEL: 'info',
    });
  });

  it('an empty variable has the default value', () => {
    expect(loadConfig(environment({ PORT: '', DOCUMENT_CHECK_DIGITS: '' }))).toMatchObject({
      PORT: 3000,
      DOCUMENT_CHECK_DIGITS: false,
    });
  });

  it('the configuration converts text to numbers and booleans', () => {
    expect(loadConfig(environment({ PORT: '0', DOCUMENT_CHECK_DIGITS: 'true' }))).toMatchObject({
      PORT: 0,
      DOCUMENT_CHECK_DIGITS: true,
    });
  });

  it('the configuration is immutable', () => {
    const config = loadConfig(environment()) as { PORT: number };
    expect(() => (config.PORT = 1)).toThrow(TypeError);
  });

  it('the configuration error names every missing or invalid variable and what is expected', () => {
    expect(
      rejectedVariables({
        PORT: 'abc',
        BCRYPT_COST: '3',
        DOCUMENT_CHECK_DIGITS: 'yes',
        LOG_LEVEL: 'loud',
        NODE_ENV: 'prod',
      }),
    ).toEqual(['BCRYPT_COST', 'DATABASE_URL', 'DOCUMENT_CHECK_DIGITS', 'JWT_SECRET', 'LOG_LEVEL', 'NODE_ENV', 'PORT']);
    expect(() => loadConfig({})).toThrow(
      /DATABASE_URL is missing: it must be a URL such as mysql:\/\/.*\n.*JWT_SECRET is missing: it must be at least 32 bytes/,
    );
  });

  it.each(['-1', '65536', '1.5', '1e9', 'NaN', 'Infinity'])('the configuration rejects PORT=%s', (PORT) => {
    expect(rejectedVariables(environment({ PORT }))).toEqual(['PORT']);
  });

  it.each([
    'postgres://db/cashback',
    'mysql://db:3306',
    'mysql://db:3306/',
    'mysql://db:port/cashback',
    'mysql://db:99999/cashback',
    'mysql://user:50%@db/cashback',
    'mysql://us er:p@ss@/x',
    'mysql://db/cashback?ssl=true',
    'mysql://db/cashback?ssl-mode=PREFERRED',
    'mysql://db/cashback?ssl-mode=VERIFY_CA',
    'mysql://127.0.0.1/cashback?ssl-mode=VERIFY_IDENTITY',
    'mysql://db/cashback?ssl-mode=REQUIRED&ssl-ca=/there/is/no/such/file.pem',
    'cashback',
  ])('the configuration rejects the database URL %s', (DATABASE_URL) => {
    expect(rejectedVariables(environment({ DATABASE_URL }))).toEqual(['DATABASE_URL']);
  });

  it.each([
    'mysql://root@127.0.0.1:3306/cashback',
    'mysql://u:p%40ss@db/cashback',
    'mariadb://u:p@[::1]:3307/cashback',
  ])('the configuration accepts the database URL %s', (DATABASE_URL) => {
    expect(loadConfig(environment({ DATABASE_URL })).DATABASE_URL).toBe(DATABASE_URL);
  });

  it('DATABASE_PASSWORD is used literally when the database URL has no password', () => {
    const urlWith = (DATABASE_URL: string): string =>
      loadConfig(environment({ DATABASE_URL, DATABASE_PASSWORD: 'p@ss/w#rd%41' })).DATABASE_URL;
    expect(decodeURIComponent(new URL(urlWith('mysql://u@db/cashback')).password)).toBe('p@ss/w#rd%41');
    expect(urlWith('mysql://u:own@db/cashback')).toBe('mysql://u:own@db/cashback');
  });
});

describe('rate limits and related variables', () => {
  it('by default, rate limits are enabled, counted per instance, and trust no proxy', () => {
    const config = loadConfig(environment());
    expect(config).toMatchObject({ LOGIN_RATE_LIMIT: 10, RATE_LIMIT: 100, TRUST_PROXY: '' });
    expect(config.REDIS_URL).toBeUndefined();
  });

  it.each<Record<string, string>>([
    { LOGIN_RATE_LIMIT: '0' },
    { RATE_LIMIT: '-1' },
    { RATE_LIMIT: '1.5' },
    { REDIS_URL: 'localhost:6379' },
    { REDIS_URL: 'http://localhost' },
    { REDIS_URL: 'redis://' },
    { TRUST_PROXY: 'true' },
    { TRUST_PROXY: 'nginx' },
    { CORS_ORIGINS: '*' },
    { CORS_ORIGINS: 'shop.example' },
    { CORS_ORIGINS: 'https://shop.example/' },
    { CORS_ORIGINS: 'https://shop.example,' },
    { PUBLIC_URL: 'shop.example' },
    { PUBLIC_URL: 'ftp://shop.example' },
    { PUBLIC_URL: 'https://shop.example/' },
    { PUBLIC_URL: 'https://shop.example/api?x=1' },
    { PUBLIC_URL: 'https://user:secret@shop.example' },
  ])('the configuration rejects %j', (variable) => {
    expect(rejectedVariables(environment(variable))).toEqual(Object.keys(variable));
  });

  it.each<Record<string, string>>([
    { RATE_LIMIT: '0' },
    { REDIS_URL: 'rediss://:secret@cache:6380/1' },
    { REDIS_URL: '' },
    { TRUST_PROXY: '2' },
    { CORS_ORIGINS: 'https://shop.example, http://localhost:8080' },
    { TRUST_PROXY: '10.0.0.0/8, ::1' },
    { PUBLIC_URL: 'https://shop.example' },
    { PUBLIC_URL: 'https://shop.example:8443/cashback/v1' },
    { PUBLIC_URL: '' },
  ])('the configuration accepts %j', (variable) => {
    expect(rejectedVariables(environment(variable))).toEqual([]);
  });
});

describe('WEBHOOK_ALLOW_PRIVATE', () => {
  it('EVENT_RETENTION_DAYS is at least 4, because an endpoint of webhooks may fail for 3', () => {
    expect(rejectedVariables(environment({ EVENT_RETENTION_DAYS: '3' }))).toEqual(['EVENT_RETENTION_DAYS']);
    expect(loadConfig(environment({ EVENT_RETENTION_DAYS: '4' })).EVENT_RETENTION_DAYS).toBe(4);
  });

  it('WEBHOOK_ALLOW_PRIVATE is false by default, and cannot be true in production', () => {
    expect(loadConfig(environment()).WEBHOOK_ALLOW_PRIVATE).toBe(false);
    const WEBHOOK_ALLOW_PRIVATE = 'true';
    expect(rejectedVariables(environment({ WEBHOOK_ALLOW_PRIVATE }))).toEqual(['WEBHOOK_ALLOW_PRIVATE']);
    for (const NODE_ENV of ['development', 'test'])
      expect(loadConfig(environment({ NODE_ENV, WEBHOOK_ALLOW_PRIVATE })).WEBHOOK_ALLOW_PRIVATE).toBe(true);
  });
});

describe('JWT_SECRET', () => {
  it('JWT_SECRET must have at least 32 bytes in every environment', () => {
    for (const NODE_ENV of ['production', 'development', 'test']) {
      expect(rejectedVariables(environment({ NODE_ENV, JWT_SECRET: SECRET.slice(0, 31) }))).toEqual(['JWT_SECRET']);
      expect(rejectedVariables(environment({ NODE_ENV, JWT_SECRET: SECRET.slice(0, 32) }))).toEqual([]);
    }
  });

  it('JWT_SECRET must have at least 8 different characters in every environment, and the error says so', () => {
    for (const NODE_ENV of ['production', 'development', 'test']) {
      for (const characters of ['a', '01', 'abcdefg'])
        expect(rejectedVariables(environment({ NODE_ENV, JWT_SECRET: characters.repeat(32) }))).toEqual(['JWT_SECRET']);
      expect(rejectedVariables(environment({ NODE_ENV, JWT_SECRET: 'abcdefgh'.repeat(4) }))).toEqual([]);
    }
    expect(() => loadConfig(environment({ JWT_SECRET: 'a'.repeat(32) }))).toThrow(
      /JWT_SECRET must be at least 32 bytes with at least 8 different characters.*openssl rand -base64 48/,
    );
  });

  it.each([
    'change-me-change-me-change-me-change-me',
    'CHANGE_ME_'.repeat(4),
    'this-is-a-placeholder-for-a-real-secret',
  ])('JWT_SECRET cannot be a placeholder such as %s in production', (JWT_SECRET) => {
    expect(rejectedVariables(environment({ NODE_ENV: 'production', JWT_SECRET }))).toEqual(['JWT_SECRET']);
    expect(rejectedVariables(environment({ JWT_SECRET }))).toEqual(['JWT_SECRET']);
    expect(rejectedVariables(environment({ NODE_ENV: 'development', JWT_SECRET }))).toEqual([]);
  });

  it('JWT_SECRET_PREVIOUS accepts secrets of at least 32 bytes, separated by commas', () => {
    const [one, other] = ['1'.repeat(32), 'o'.repeat(40)];
    expect(signingSecrets(loadConfig(environment()))).toEqual([SECRET]);
    expect(signingSecrets(loadConfig(environment({ JWT_SECRET_PREVIOUS: '' })))).toEqual([SECRET]);
    expect(signingSecrets(loadConfig(environment({ JWT_SECRET_PREVIOUS: `${one}, ${other}` })))).toEqual([
      SECRET,
      one,
      other,
    ]);
    for (const JWT_SECRET_PREVIOUS of ['short', `${one},`, `${one},short`])
      expect(rejectedVariables(environment({ JWT_SECRET_PREVIOUS }))).toEqual(['JWT_SECRET_PREVIOUS']);
  });

  it('the error for an invalid JWT_SECRET does not contain the secret', () => {
    expect(() => loadConfig(environment({ JWT_SECRET: 'hunter2-too-short' }))).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
    );
  });
});
