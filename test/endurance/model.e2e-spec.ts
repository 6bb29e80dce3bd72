import { testModel } from '../support/model/property.js';

testModel({ sequences: 10_000, isWhole: true });
