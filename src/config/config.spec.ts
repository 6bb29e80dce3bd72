import { describe, expect, it } from '@jest/globals';
import { ConfigError, loadConfig } from './config.js';
import { signingSecrets } from './signing-secrets.js';

const SECRET = 'Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZg==';
const environment = (variables: Record<string, string | undefined> = {}): Record<string, string | undefined> => ({
  DATABASE_URL: 'mysql://cashback:secret@db:3306/cashback',
  JWT_SECRET: SECRET,
  ...variables,
});

/** The variables that a refusal names. */
function refusedOf(env: Record<string, string | undefined>): string[] {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults.map((fault) => fault.split(' ')[0] ?? '').sort();
    throw error;
  }
  return [];
}

describe('the configuration', () => {
  it('has safe defaults', () => {
    expect(loadConfig(environment())).toMatchObject({
      NODE_ENV: 'production',
      HOST: '127.0.0.1',
      PORT: 3000,
      BCRYPT_COST: 12,
      ACCESS_TOKEN_TTL_SECONDS: 3600,
      REFRESH_TOKEN_TTL_SECONDS: 30 * 86_400,
      SESSION_TTL_SECONDS: 90 * 86_400,
      REFRESH_RETRY_WINDOW_SECONDS: 30,
      CPF_CHECK_DIGITS: false,
      LOG_LEVEL: 'info',
    });
  });

  it('treats an empty variable as not set', () => {
    expect(loadConfig(environment({ PORT: '', CPF_CHECK_DIGITS: '' }))).toMatchObject({
      PORT: 3000,
      CPF_CHECK_DIGITS: false,
    });
  });

  it('parses numbers and booleans', () => {
    expect(loadConfig(environment({ PORT: '0', CPF_CHECK_DIGITS: 'true' }))).toMatchObject({
      PORT: 0,
      CPF_CHECK_DIGITS: true,
    });
  });

  it('is immutable', () => {
    const config = loadConfig(environment()) as { PORT: number };
    expect(() => (config.PORT = 1)).toThrow(TypeError);
  });

  it('lists every missing and every invalid variable, with what is expected', () => {
    expect(
      refusedOf({ PORT: 'abc', BCRYPT_COST: '3', CPF_CHECK_DIGITS: 'yes', LOG_LEVEL: 'loud', NODE_ENV: 'prod' }),
    ).toEqual(['BCRYPT_COST', 'CPF_CHECK_DIGITS', 'DATABASE_URL', 'JWT_SECRET', 'LOG_LEVEL', 'NODE_ENV', 'PORT']);
    expect(() => loadConfig({})).toThrow(
      /DATABASE_URL is missing: it must be a URL such as mysql:\/\/.*\n.*JWT_SECRET is missing: it must be at least 32 bytes/,
    );
  });

  it.each(['-1', '65536', '1.5', '1e9', 'NaN', 'Infinity'])('refuses the port %s', (PORT) => {
    expect(refusedOf(environment({ PORT }))).toEqual(['PORT']);
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
  ])('refuses the database %s', (DATABASE_URL) => {
    expect(refusedOf(environment({ DATABASE_URL }))).toEqual(['DATABASE_URL']);
  });

  it.each([
    'mysql://root@127.0.0.1:3306/cashback',
    'mysql://u:p%40ss@db/cashback',
    'mariadb://u:p@[::1]:3307/cashback',
  ])('accepts the database %s', (DATABASE_URL) => {
    expect(loadConfig(environment({ DATABASE_URL })).DATABASE_URL).toBe(DATABASE_URL);
  });

  it('takes the password from DATABASE_PASSWORD, not encoded, if the URL has none', () => {
    const urlWith = (DATABASE_URL: string): string =>
      loadConfig(environment({ DATABASE_URL, DATABASE_PASSWORD: 'p@ss/w#rd%41' })).DATABASE_URL;
    expect(decodeURIComponent(new URL(urlWith('mysql://u@db/cashback')).password)).toBe('p@ss/w#rd%41');
    expect(urlWith('mysql://u:own@db/cashback')).toBe('mysql://u:own@db/cashback');
  });
});

describe('the limits', () => {
  it('are on by default, are counted per instance, and trust no proxy', () => {
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
  ])('refuse %j', (variable) => {
    expect(refusedOf(environment(variable))).toEqual(Object.keys(variable));
  });

  it.each<Record<string, string>>([
    { RATE_LIMIT: '0' },
    { REDIS_URL: 'rediss://:secret@cache:6380/1' },
    { REDIS_URL: '' },
    { TRUST_PROXY: '2' },
    { CORS_ORIGINS: 'https://shop.example, http://localhost:8080' },
    { TRUST_PROXY: '10.0.0.0/8, ::1' },
  ])('accept %j', (variable) => {
    expect(refusedOf(environment(variable))).toEqual([]);
  });
});

describe('the signing secret', () => {
  it('has at least 32 bytes, everywhere', () => {
    for (const NODE_ENV of ['production', 'development', 'test']) {
      expect(refusedOf(environment({ NODE_ENV, JWT_SECRET: SECRET.slice(0, 31) }))).toEqual(['JWT_SECRET']);
      expect(refusedOf(environment({ NODE_ENV, JWT_SECRET: SECRET.slice(0, 32) }))).toEqual([]);
    }
  });

  it('has at least 8 different characters, everywhere, and the refusal says so', () => {
    for (const NODE_ENV of ['production', 'development', 'test']) {
      for (const characters of ['a', '01', 'abcdefg'])
        expect(refusedOf(environment({ NODE_ENV, JWT_SECRET: characters.repeat(32) }))).toEqual(['JWT_SECRET']);
      expect(refusedOf(environment({ NODE_ENV, JWT_SECRET: 'abcdefgh'.repeat(4) }))).toEqual([]);
    }
    expect(() => loadConfig(environment({ JWT_SECRET: 'a'.repeat(32) }))).toThrow(
      /JWT_SECRET must be at least 32 bytes with at least 8 different characters.*openssl rand -base64 48/,
    );
  });

  it.each([
    'change-me-change-me-change-me-change-me',
    'CHANGE_ME_'.repeat(4),
    'this-is-a-placeholder-for-a-real-secret',
  ])('is not a placeholder such as %s in production', (JWT_SECRET) => {
    expect(refusedOf(environment({ NODE_ENV: 'production', JWT_SECRET }))).toEqual(['JWT_SECRET']);
    expect(refusedOf(environment({ JWT_SECRET }))).toEqual(['JWT_SECRET']);
    expect(refusedOf(environment({ NODE_ENV: 'development', JWT_SECRET }))).toEqual([]);
  });

  it('can be accompanied by previous secrets, separated by commas, of at least 32 bytes each', () => {
    const [one, other] = ['1'.repeat(32), 'o'.repeat(40)];
    expect(signingSecrets(loadConfig(environment()))).toEqual([SECRET]);
    expect(signingSecrets(loadConfig(environment({ JWT_SECRET_PREVIOUS: '' })))).toEqual([SECRET]);
    expect(signingSecrets(loadConfig(environment({ JWT_SECRET_PREVIOUS: `${one}, ${other}` })))).toEqual([
      SECRET,
      one,
      other,
    ]);
    for (const JWT_SECRET_PREVIOUS of ['short', `${one},`, `${one},short`])
      expect(refusedOf(environment({ JWT_SECRET_PREVIOUS }))).toEqual(['JWT_SECRET_PREVIOUS']);
  });

  it('does not appear in the error message', () => {
    expect(() => loadConfig(environment({ JWT_SECRET: 'hunter2-too-short' }))).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
    );
  });
});
