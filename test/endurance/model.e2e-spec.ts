import { testModel } from '../support/model/property.js';

testModel({ sequences: 8000, isWhole: true });
