"""Hands connections on: from a listening socket, made in one network namespace, to an address in the one it runs in."""

import asyncio
import socket
import sys


async def pass_on(reader, writer):
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:  # One side is gone: the other learns it by the close below.
        writer.close()


async def main(descriptor, host, port):
    async def serve(reader, writer):
        try:
            far_reader, far_writer = await asyncio.open_connection(host, port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(pass_on(reader, far_writer), pass_on(far_reader, writer))
        far_writer.close()
        writer.close()

    server = await asyncio.start_server(serve, sock=socket.socket(fileno=descriptor))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
