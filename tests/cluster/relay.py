"""Forwards connections from a listening socket of another network namespace to an address in its own namespace."""

import asyncio
import socket
import sys


async def forward(reader, writer):
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:  # One side has disconnected: close the other side.
        writer.close()


async def main(descriptor, host, port):
    async def serve(reader, writer):
        try:
            server_reader, server_writer = await asyncio.open_connection(host, port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(forward(reader, server_writer), forward(server_reader, writer))
        server_writer.close()
        writer.close()

    server = await asyncio.start_server(serve, sock=socket.socket(fileno=descriptor))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
