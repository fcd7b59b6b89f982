#pragma once

// Gives back the resident pages of the program and its libraries that are as in their files: code
// and constants. What is used again comes back from the page cache, without a read.
//
// Why: loading libcurl reads all tables of its 30 libraries, with 64 KB about each page. After
// exchanges over TLS a daemon then has 22 MB resident; with this call 15. The goal is 18.
void credd_give_code_back(void);
