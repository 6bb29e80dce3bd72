import { jest } from '@jest/globals';

// These tests kill, cut off and overload, on a machine that other programs may load as well. A failed test gets one
// more attempt. The errors of the first one are printed, and the end of the run names the test.
jest.retryTimes(1, { logErrorsBeforeRetry: true });
