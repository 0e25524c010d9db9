// index.js - every workflow of this directory under its type's name.
'use strict';
Object.assign(exports, require('./basic'), require('./recorded'), require('./talk'));
