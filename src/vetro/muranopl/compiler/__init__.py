"""MuranoPL bodies, contracts and defaults compiled to Python functions; see `compiler.Compiler`."""
